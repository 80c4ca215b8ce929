//! What searches of knowledge bases may keep in memory, and how it is divided.

/// The setting's default in mebibytes.
pub const DEFAULT_MEMORY_MB: u64 = 512;

/// The memory of searches in bytes (`convengine.assistants.knowledge-memory-mb`). What does not fit is read again when it is searched;
/// vectors of a knowledge base that are too large for it are not searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchMemory {
    bytes: u64,
}

impl SearchMemory {
    /// Divides a number of mebibytes.
    pub fn from_mebibytes(mebibytes: u64) -> SearchMemory {
        SearchMemory { bytes: mebibytes.saturating_mul(1 << 20) }
    }

    /// For vectors of chunks, where the database cannot compare them: five eighths.
    pub fn vectors(self) -> u64 {
        self.bytes / 8 * 5
    }

    /// For the lists of chunks: an eighth.
    pub fn directories(self) -> u64 {
        self.bytes / 8
    }

    /// For the chunks that contain a word: an eighth.
    pub fn occurrences(self) -> u64 {
        self.bytes / 8
    }

    /// For the vectors of the phrases of intents: an eighth.
    pub fn phrases(self) -> u64 {
        self.bytes / 8
    }
}

impl Default for SearchMemory {
    fn default() -> SearchMemory {
        SearchMemory::from_mebibytes(DEFAULT_MEMORY_MB)
    }
}
