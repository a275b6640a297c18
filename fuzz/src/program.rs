//! An input read as a program: bytes taken one by one, zeros for ever after the end.

/// What is left of an input.
pub(crate) struct Program<'a>(&'a [u8]);

impl<'a> Program<'a> {
    pub(crate) fn new(input: &'a [u8]) -> Self {
        Self(input)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((byte, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *byte
    }

    /// One of `table`.
    pub(crate) fn choose<T: Copy>(&mut self, table: &[T]) -> T {
        table[usize::from(self.byte()) % table.len()]
    }

    /// A place in something of this length, if it has any.
    pub(crate) fn index(&mut self, len: usize) -> Option<usize> {
        let byte = usize::from(self.byte());
        (len != 0).then(|| byte % len)
    }

    /// At most `len` bytes.
    pub(crate) fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        taken
    }
}
