// LZMA, as its specification has it (Igor Pavlov, 2015): a third smaller than what browsers unpack by themselves.

const [MATCH, SLOTS] = [2, 4];

/** The bytes that `input`, a file of LZMA's old form, was packed of: so many. */
function inflated(input, length) {
  const [lc, lp, pb] = [input[0] % 9, Math.floor(input[0] / 9) % 5, Math.floor(input[0] / 45)];
  const out = new Uint8Array(length);
  const even = (n) => new Uint16Array(n).fill(1024);
  const literals = even(0x300 << (lc + lp));
  const [isMatch, isLong] = [even(12 << 4), even(12 << 4)];
  const [isRep, isRep0, isRep1, isRep2] = [even(12), even(12), even(12), even(12)];
  const slots = even(SLOTS << 6);
  const [special, align] = [even(128), even(16)];
  const lengths = () => ({ choice: even(2), low: even(16 << 3), mid: even(16 << 3), high: even(256) });
  const [matched, repeated] = [lengths(), lengths()];

  let [range, code, next] = [0xffffffff, 0, 14];
  for (let n = 0; n < 4; n++) code = ((code << 8) | input[next++]) >>> 0;

  const refill = () => {
    range = (range << 8) >>> 0;
    code = ((code << 8) | input[next++]) >>> 0;
  };
  const bit = (odds, at) => {
    const odd = odds[at];
    const bound = (range >>> 11) * odd;
    let one = 0;
    if (code < bound) {
      range = bound;
      odds[at] = odd + ((2048 - odd) >> 5);
    } else {
      range -= bound;
      code -= bound;
      odds[at] = odd - (odd >> 5);
      one = 1;
    }
    if (range < 0x1000000) refill();
    return one;
  };
  const tree = (odds, base, bits) => {
    let node = 1;
    for (let n = 0; n < bits; n++) node = (node << 1) | bit(odds, base + node);
    return node - (1 << bits);
  };
  const reversed = (odds, base, bits) => {
    let [node, value] = [1, 0];
    for (let n = 0; n < bits; n++) {
      const one = bit(odds, base + node);
      node = (node << 1) | one;
      value |= one << n;
    }
    return value;
  };
  const direct = (bits) => {
    let value = 0;
    for (let n = 0; n < bits; n++) {
      range >>>= 1;
      const one = code >= range ? 1 : 0;
      if (one) code -= range;
      value = value * 2 + one;
      if (range < 0x1000000) refill();
    }
    return value;
  };
  const lengthOf = (coder, place) => {
    if (!bit(coder.choice, 0)) return MATCH + tree(coder.low, place << 3, 3);
    if (!bit(coder.choice, 1)) return MATCH + 8 + tree(coder.mid, place << 3, 3);
    return MATCH + 16 + tree(coder.high, 0, 8);
  };
  const distance = (run) => {
    const slot = tree(slots, Math.min(run - MATCH, SLOTS - 1) << 6, 6);
    if (slot < 4) return slot;
    const bits = (slot >> 1) - 1;
    const base = (2 | (slot & 1)) * 2 ** bits;
    if (slot < 14) return base + reversed(special, base - slot, bits);
    return base + direct(bits - 4) * 16 + reversed(align, 0, 4);
  };

  let [state, at] = [0, 0];
  let [rep0, rep1, rep2, rep3] = [0, 0, 0, 0];
  const literal = () => {
    const before = at > 0 ? out[at - 1] : 0;
    const base = 0x300 * (((at & ((1 << lp) - 1)) << lc) + (before >> (8 - lc)));
    let symbol = 1;
    if (state >= 7) {
      let match = out[at - rep0 - 1];
      while (symbol < 0x100) {
        const expected = (match >> 7) & 1;
        match <<= 1;
        const one = bit(literals, base + ((1 + expected) << 8) + symbol);
        symbol = (symbol << 1) | one;
        if (one !== expected) break;
      }
    }
    while (symbol < 0x100) symbol = (symbol << 1) | bit(literals, base + symbol);
    out[at++] = symbol & 0xff;
    state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
  };
  while (at < length) {
    const place = at & ((1 << pb) - 1);
    if (!bit(isMatch, (state << 4) + place)) {
      literal();
      continue;
    }
    let run;
    if (!bit(isRep, state)) {
      [rep3, rep2, rep1] = [rep2, rep1, rep0];
      run = lengthOf(matched, place);
      state = state < 7 ? 7 : 10;
      rep0 = distance(run);
    } else {
      if (!bit(isRep0, state)) {
        if (!bit(isLong, (state << 4) + place)) {
          state = state < 7 ? 9 : 11;
          out[at] = out[at - rep0 - 1];
          at += 1;
          continue;
        }
      } else if (!bit(isRep1, state)) {
        [rep1, rep0] = [rep0, rep1];
      } else if (!bit(isRep2, state)) {
        [rep2, rep1, rep0] = [rep1, rep0, rep2];
      } else {
        [rep3, rep2, rep1, rep0] = [rep2, rep1, rep0, rep3];
      }
      run = lengthOf(repeated, place);
      state = state < 7 ? 8 : 11;
    }
    if (rep0 >= at || at + run > length) throw new Error("the compiler in this page is damaged");
    for (let from = at - rep0 - 1, end = at + run; at < end; ) out[at++] = out[from++];
  }
  return out;
}
