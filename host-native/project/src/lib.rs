//! Projects on disk: folders with a pack, its talks and its settings. What reads and runs packs is elsewhere.

pub mod init;
