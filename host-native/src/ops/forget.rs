//! `convengine forget`: deletes conversations by id or person.

use convengine_host_base::exit::Failure;
use convengine_host_base::print_line;
use convengine_host_base::uuid_text::parse_uuid;
use convengine_settings::Settings;
use convengine_storage::{self as storage, forget};
use convengine_turns::forget::{NOTHING_FOUND, SearchError, clear_state, has_all_rows, list_conversations, log_deletion, purge_files};
use convengine_turns::refusal::Refusal;

use crate::turn_cluster::find_cluster;

/// Which conversations to delete.
#[derive(Debug, Clone, Default)]
pub struct ForgetTarget {
    /// A conversation id.
    pub conversation: Option<String>,
    /// Values by name or path that the conversations of a person hold; all must match.
    pub person: Vec<(String, String)>,
}

/// Runs `convengine forget`.
///
/// # Errors
/// Returns exit code 1 when a conversation has a running turn, or when some conversations cannot be searched; 2 for an invalid id; 3 when the
/// database cannot be used; 4 when the conversation does not exist or a person has none.
pub async fn command(settings: &Settings, target: ForgetTarget) -> Result<(), Failure> {
    let unusable = |it: sqlx::Error| storage::database_failure(&settings.database, &it);
    let mut connection = storage::connect_existing(&settings.database).await?;
    let cluster = find_cluster(settings)?;
    let ids = match &target.conversation {
        Some(text) => {
            vec![parse_uuid(text).ok_or_else(|| Failure::invalid_usage(format!("'{text}' is not a conversation id; use a UUID")))?]
        }
        None => match list_conversations(&mut connection, &target.person, has_all_rows(cluster.as_deref())).await {
            Ok(ids) if ids.is_empty() => return Err(Failure::nothing_found(NOTHING_FOUND)),
            Ok(ids) => ids,
            Err(SearchError::Incomplete(reason)) => return Err(Failure::check_failed(vec![reason])),
            Err(SearchError::Database(error)) => return Err(unusable(error)),
        },
    };
    connection.begin().await.map_err(unusable)?;
    let running = forget::list_running(&mut connection, &ids).await.map_err(unusable)?;
    if let Some(first) = running.first() {
        return Err(Failure::check_failed(vec![format!("conversation {first} has a running turn; nothing was deleted, try again later")]));
    }
    let unreachable = |it: Refusal, what: &str| Failure::service_unavailable(format!("{it}; {what}"));
    let with_state = clear_state(cluster.as_deref(), &ids).await.map_err(|it| unreachable(it, "no rows were deleted"))?;
    let deleted = forget::delete_conversations(&mut connection, &ids).await.map_err(unusable)?;
    connection.commit().await.map_err(unusable)?;
    // A message in between has made its turn from the rows.
    clear_state(cluster.as_deref(), &ids).await.map_err(|it| unreachable(it, "the rows are deleted, run the command again"))?;
    if target.conversation.is_some() && deleted == 0 && with_state == 0 {
        let database = settings.database.redacted_url();
        return Err(Failure::nothing_found(format!("nothing was deleted: conversation not found in '{database}'; check the id")));
    }
    purge_files(&mut connection).await.map_err(unusable)?;
    log_deletion(ids.len());
    print_line!("deleted conversations: {}", ids.len());
    Ok(())
}
