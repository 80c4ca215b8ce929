//! The acknowledged turns of a run with several databases, and the comparison with what is stored.

use std::cell::RefCell;
use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

use super::database::Database;

/// The number of acknowledged turns, by index of the database and conversation.
#[derive(Debug, Default)]
pub struct AcknowledgedTurns(RefCell<BTreeMap<(usize, String), usize>>);

impl AcknowledgedTurns {
    /// Counts a turn.
    pub fn add(&self, database: usize, conversation: &str) {
        *self.0.borrow_mut().entry((database, conversation.to_owned())).or_default() += 1;
    }

    /// Returns the conversations whose acknowledged turns are not stored exactly once; `name` is that of the database's pack.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn find_lost(&self, index: usize, name: &str, database: &Database) -> Result<Vec<String>> {
        let sql = "select cast(conversation_id as text), cast(count(*) as text), cast(max(number) as text) from ce_turn group by 1";
        let mut found: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for row in database.query(sql)? {
            let [id, count, last] = row.as_slice() else { bail!("unexpected columns") };
            found.insert(id.clone(), (count.parse().context("invalid count")?, last.parse().context("invalid number")?));
        }
        let mut failed = Vec::new();
        for ((_, id), turns) in self.0.borrow().iter().filter(|it| it.0.0 == index) {
            let (stored, last) = found.remove(id).unwrap_or_default();
            if (stored, last) != (*turns, *turns) {
                failed.push(format!("{name} {id}: {turns} turns acknowledged, {stored} stored, the highest number is {last}"));
            }
        }
        failed.extend(found.keys().map(|id| format!("{name} {id}: unknown conversation")));
        Ok(failed)
    }
}
