//! Reads and compresses journals.

use convengine_core::turn::Journal;
use sqlx::Row;
use sqlx::sqlite::SqlitePool;

/// A stored turn as a replay needs it.
#[derive(Debug, Clone)]
pub struct StoredTurn {
    /// Its number within the conversation.
    pub number: u32,
    /// The configuration it ran under.
    pub config_hash: String,
    /// Compressed JSON.
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

/// Most bytes of a journal before compression: more is a damaged column and not worth the memory.
const LONGEST: usize = 256 << 20;

/// Compresses a journal for its column: the length in four bytes, then one LZ4 block.
///
/// LZ4 and not a denser form, because a turn pays for it: its state is a hundredth of that of Deflate.
///
/// # Errors
/// When the journal cannot be serialised.
pub fn compress(journal: &Journal) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(journal).map(|it| lz4_flex::compress_prepend_size(&it))
}

/// Reads a journal out of its column.
///
/// # Errors
/// When the bytes are no journal.
pub fn decompress(bytes: &[u8]) -> std::io::Result<Journal> {
    let invalid = |reason: String| std::io::Error::new(std::io::ErrorKind::InvalidData, reason);
    let (length, block) = lz4_flex::block::uncompressed_size(bytes).map_err(|it| invalid(it.to_string()))?;
    if length > LONGEST {
        return Err(invalid(format!("it claims a length of {length} bytes")));
    }
    let text = lz4_flex::decompress(block, length).map_err(|it| invalid(it.to_string()))?;
    Ok(serde_json::from_slice(&text)?)
}
