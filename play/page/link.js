// Links: all of the page's state but results, packed into the fragment of its address.

async function through(stream, bytes) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

/** Letters of an address. */
function spelled(bytes) {
  let text = "";
  for (let n = 0; n < bytes.length; n += 4096) text += String.fromCharCode(...bytes.subarray(n, n + 4096));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function read(text) {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
}

/** `#1.…`: the version of the form, and the state. */
async function packed(state) {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  return `#1.${spelled(await through(new CompressionStream("deflate-raw"), bytes))}`;
}

/** The state that a fragment holds, an example's name, or nothing; an error says what is wrong with it. */
async function unpacked(fragment) {
  const text = fragment.replace(/^#/, "");
  if (text === "") return null;
  const example = /^example=([a-z0-9_-]+)$/.exec(text);
  if (example) return { example: example[1] };
  if (!text.startsWith("1.")) throw new Error("the link is of another version of this page");
  try {
    const bytes = await through(new DecompressionStream("deflate-raw"), read(text.slice(2)));
    return checkedState(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    throw new Error("the link is damaged: a part of it is missing, or was changed");
  }
}

/** What a link says, if it is of the form that this page writes: others may write links, too. */
function checkedState(said) {
  // What is pasted elsewhere has these on a line, and files of these names.
  const line = (text) => typeof text === "string" && !/[\u0000-\u001f\u007f]/.test(text);
  const texts = (value) => Object.fromEntries(Object.entries(value ?? {}).filter((pair) => pair.every(line)));
  if (typeof said.program !== "string") throw new Error("no program");
  const data = {};
  for (const [name, datum] of Object.entries(said.data ?? {})) {
    const held = typeof datum.text === "string";
    if (!line(name) || !line(datum.from) || (held && !/^\w[\w.-]*$/.test(datum.from))) throw new Error("no data");
    data[name] = { from: datum.from, text: held ? datum.text : undefined };
  }
  return {
    version: String(said.version ?? ""), program: said.program, formats: texts(said.formats), strict: said.strict === true,
    schedule: typeof said.schedule === "string" ? said.schedule : null, data, order: texts(said.order), limit: texts(said.limit),
  };
}
