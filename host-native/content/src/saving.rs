//! Saves drafts. Each one counts as an import of the plan. (docs/spec/flows.md#12.2)

use convengine_host_base::clock;
use convengine_storage::activation::lock_configuration;
use convengine_storage::assistant::draft::{self, Expected};
use convengine_storage::assistant::{ProgramKey, session};
use convengine_storage::call_log::CallLogColumns;
use convengine_storage::turn_rows::TurnRows;
use convengine_storage::{self as storage, Connection, commit};
use serde_json::Value;

use super::plan::month_start;
use crate::Content;

/// What became of a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaveResult {
    /// It is saved, as this revision.
    Saved(i64),
    /// The stored draft is not as expected.
    NotAsExpected,
    /// The plan allows this many imports per month, and they are used.
    QuotaExceeded(u32),
}

/// Saves a draft if the stored one is as expected and the plan allows another import this month.
pub async fn save_draft(content: &Content, key: &ProgramKey, document: &Value, expected: Expected) -> sqlx::Result<SaveResult> {
    let mut connection = storage::open(content.config_manager.database(), false).await?;
    let new_draft = NewDraft { workspace: &content.workspace, quota: content.plan.imports, key, document, expected };
    let result = new_draft.save(&mut connection).await?;
    connection.close().await?;
    Ok(result)
}

/// A draft to be saved in a workspace.
struct NewDraft<'a> {
    workspace: &'a str,
    quota: Option<u32>,
    key: &'a ProgramKey,
    document: &'a Value,
    expected: Expected,
}

impl NewDraft<'_> {
    async fn save(&self, connection: &mut Connection) -> sqlx::Result<SaveResult> {
        connection.begin().await?;
        // Imports and saves at the same time count one after the other.
        lock_configuration(connection).await?;
        let result = self.save_in_transaction(connection).await?;
        match result {
            SaveResult::Saved(_) => connection.commit().await?,
            SaveResult::NotAsExpected | SaveResult::QuotaExceeded(_) => connection.rollback().await?,
        }
        Ok(result)
    }

    async fn save_in_transaction(&self, connection: &mut Connection) -> sqlx::Result<SaveResult> {
        let now = clock::now();
        if let Some(quota) = self.quota
            && session::count_imports(connection, self.workspace, month_start(now)).await? >= i64::from(quota)
        {
            return Ok(SaveResult::QuotaExceeded(quota));
        }
        let (id, name) = (self.key.as_str(), draft::display_name(self.document));
        let saved = draft::save_in_transaction(connection, id, &name, &self.document.to_string(), self.expected, now).await?;
        let Some(revision) = saved else { return Ok(SaveResult::NotAsExpected) };
        let mut rows = TurnRows::default();
        rows.add_usage(self.workspace, "import", now, 1, id);
        commit::write(connection, &rows, CallLogColumns::Plain).await?;
        Ok(SaveResult::Saved(revision))
    }
}

#[cfg(test)]
mod tests {
    use convengine_storage::testing::each_database;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn what_is_saved_counts_against_the_quota_and_what_is_refused_does_not() {
        for mut database in each_database().await {
            let (key, document) = (ProgramKey::parse("desk"), json!({"name": "Desk"}));
            let mut save = async |expected, quota| {
                let draft = NewDraft { workspace: "default", quota, key: &key, document: &document, expected };
                draft.save(&mut database.connection).await.expect("an answer")
            };
            assert_eq!(save(Expected::Anything, Some(2)).await, SaveResult::Saved(1));
            assert_eq!(save(Expected::Nothing, Some(2)).await, SaveResult::NotAsExpected);
            assert_eq!(save(Expected::Revision(1), Some(2)).await, SaveResult::Saved(2));
            assert_eq!(save(Expected::Anything, Some(2)).await, SaveResult::QuotaExceeded(2));
            assert_eq!(save(Expected::Anything, None).await, SaveResult::Saved(3));
        }
    }
}
