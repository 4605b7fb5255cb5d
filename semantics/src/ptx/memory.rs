//! Memory: bytes, of which each was set or not, in buffers with names.

/// The bits of an address that say where in a buffer it is.
const WITHIN: u32 = 40;

/// Where shared and local memory are, for addresses of any space.
pub(super) const SHARED: u64 = 1 << 62;
pub(super) const LOCAL: u64 = 2 << 62;

/// Bytes, of which some were set.
#[derive(Clone, Default, Debug)]
pub(super) struct Area {
    pub bytes: Vec<u8>,
    /// A bit a byte.
    set: Vec<u64>,
}

impl Area {
    /// Bytes that are not set.
    pub fn unset(len: u64) -> Area {
        Area { bytes: vec![0; len as usize], set: vec![0; len.div_ceil(64) as usize] }
    }

    pub fn is_set(&self, at: u64, len: u64) -> bool {
        (at..at + len).all(|k| self.set[(k / 64) as usize] >> (k % 64) & 1 == 1)
    }

    /// These bytes, all of them set.
    pub fn whole(bytes: Vec<u8>) -> Area {
        Area { set: vec![u64::MAX; bytes.len().div_ceil(64)], bytes }
    }

    pub fn mark(&mut self, at: u64, len: u64) {
        (at..at + len).for_each(|k| self.set[(k / 64) as usize] |= 1 << (k % 64));
    }

    /// The bits of at most eight bytes.
    pub fn load(&self, at: u64, len: u64) -> u64 {
        (0..len).rev().fold(0, |bits, k| bits << 8 | u64::from(self.bytes[(at + k) as usize]))
    }

    pub fn store(&mut self, at: u64, len: u64, bits: u64) {
        (0..len).for_each(|k| self.bytes[(at + k) as usize] = (bits >> (8 * k)) as u8);
        self.mark(at, len);
    }
}

/// An array in global memory.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Its name, for messages.
    pub name: String,
    /// The bytes of an element.
    pub element: u64,
    /// Whether kernels may write it.
    pub writable: bool,
    pub(super) area: Area,
}

impl Buffer {
    /// An array with these bytes, all of them set.
    pub fn of(name: &str, element: u64, bytes: Vec<u8>) -> Buffer {
        Buffer { name: name.to_string(), element: element.max(1), writable: false, area: Area::whole(bytes) }
    }

    /// An array that kernels may write, of `len` elements that are not set.
    pub fn unset(name: &str, element: u64, len: u64) -> Buffer {
        let area = Area::unset(element.max(1) * len);
        Buffer { name: name.to_string(), element: element.max(1), writable: true, area }
    }

    /// The same, which kernels may write.
    #[must_use]
    pub fn writable(mut self) -> Buffer {
        self.writable = true;
        self
    }

    /// The number of elements.
    pub fn len(&self) -> u64 {
        self.area.bytes.len() as u64 / self.element
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bits of an element; `None` if it is not set or not there.
    pub fn get(&self, at: u64) -> Option<u64> {
        let here = at < self.len() && self.area.is_set(at * self.element, self.element);
        here.then(|| self.area.load(at * self.element, self.element))
    }

    /// Its bytes; those that are not set are 0.
    pub fn bytes(&self) -> &[u8] {
        &self.area.bytes
    }

    /// Sets all bytes, as many of them as there are.
    pub fn fill(&mut self, bytes: &[u8]) {
        let len = bytes.len().min(self.area.bytes.len());
        self.area.bytes[..len].copy_from_slice(&bytes[..len]);
        self.area.mark(0, len as u64);
    }

    /// Sets an element that is there.
    pub fn set(&mut self, at: u64, bits: u64) {
        if at < self.len() {
            self.area.store(at * self.element, self.element, bits);
        }
    }
}

/// Global memory. No two buffers are near one another, so that an access out of bounds of one is in no other.
#[derive(Clone, Default, Debug)]
pub struct Global {
    pub(super) buffers: Vec<Buffer>,
}

impl Global {
    /// No buffers.
    pub const fn new() -> Global {
        Global { buffers: vec![] }
    }

    /// The buffer that begins at an address.
    pub fn begins(&self, address: u64) -> Option<usize> {
        let at = (address >> WITHIN).checked_sub(1)? as usize;
        (address.is_multiple_of(1 << WITHIN) && at < self.buffers.len()).then_some(at)
    }

    /// Adds a buffer: its address.
    pub fn add(&mut self, buffer: Buffer) -> u64 {
        self.buffers.push(buffer);
        (self.buffers.len() as u64) << WITHIN
    }

    /// The buffers, in the order in which they were added.
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// The buffers, to be written.
    pub fn buffers_mut(&mut self) -> &mut [Buffer] {
        &mut self.buffers
    }

    /// The buffer at an address, and the byte in it, which may be out of its bounds.
    pub(super) fn place(&self, address: u64) -> Option<(usize, u64)> {
        // What is a little before a buffer belongs to it: the byte is then far beyond its end.
        let half = 1 << (WITHIN - 1);
        let near = (address.checked_add(half)? >> WITHIN).checked_sub(1)? as usize;
        let begin = (near as u64 + 1) << WITHIN;
        self.buffers.get(near).map(|_| (near, address.wrapping_sub(begin)))
    }
}
