//! Reads and compresses journals.

use std::io::{Read, Write};

use convengine_core::turn::Journal;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use sqlx::Row;
use sqlx::sqlite::SqlitePool;

/// A stored turn as a replay needs it.
#[derive(Debug, Clone)]
pub struct StoredTurn {
    /// Its number within the conversation.
    pub number: u32,
    /// The configuration it ran under.
    pub config_hash: String,
    /// Deflated JSON.
    pub journal: Vec<u8>,
    /// What a replay must reach.
    pub state_hash: String,
}

/// The turns of a conversation in their order.
///
/// # Errors
/// What SQLite says.
pub async fn of_conversation(pool: &SqlitePool, conversation: &str) -> sqlx::Result<Vec<StoredTurn>> {
    let sql = "select number, config_hash, journal, state_hash from ce_turn where conversation_id = $1 order by number";
    let rows = sqlx::query(sql).bind(conversation).fetch_all(pool).await?;
    rows.iter()
        .map(|row| {
            Ok(StoredTurn {
                number: row.try_get("number")?,
                config_hash: row.try_get("config_hash")?,
                journal: row.try_get("journal")?,
                state_hash: row.try_get("state_hash")?,
            })
        })
        .collect()
}

/// Compresses a journal for its column.
///
/// # Errors
/// When the journal cannot be serialised.
pub fn deflate(journal: &Journal) -> std::io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&serde_json::to_vec(journal)?)?;
    encoder.finish()
}

/// Reads a journal out of its column.
///
/// # Errors
/// When the bytes are no journal.
pub fn inflate(bytes: &[u8]) -> std::io::Result<Journal> {
    let mut text = Vec::new();
    DeflateDecoder::new(bytes).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}
