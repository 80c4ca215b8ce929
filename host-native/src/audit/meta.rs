//! `_meta` of audit rows: what the original stored beside each payload and we derive. (`spec/data-and-api.md` 7.2)

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use convengine_core::config::Config;
use convengine_core::turn::{Map, Millis, Notice, NoticeBody, Rescued, Turn};
use serde_json::{Value, json};

use super::derive::{self, Configs};
use crate::clock;
use crate::store::Pool;
use crate::store::audit::AuditRow;
use crate::store::turn::{StoredTurn, decompress, of_conversation};

/// The session at an audit of a turn.
struct Traced {
    stage: String,
    at: Millis,
    meta: Map,
}

/// Adds `_meta` to the payloads of a conversation's rows. A row of which no turn tells (feedback, or a turn that cannot be replayed) has
/// what the row itself says.
///
/// # Errors
/// What the database says.
pub async fn add(pool: &Pool, conversation: &str, mut configs: Configs, mut rows: Vec<AuditRow>) -> sqlx::Result<Vec<AuditRow>> {
    let mut found = Vec::new();
    for turn in of_conversation(pool, conversation).await? {
        let config = configs.of(pool, &turn.config_hash).await?;
        found.push((turn, config));
    }
    derive::aside(move || {
        let traced = found.iter().flat_map(|(turn, config)| config.as_ref().map_or_else(Vec::new, |it| trace(turn, it)));
        let mut at: BTreeMap<(String, String), VecDeque<Map>> = BTreeMap::new();
        for Traced { stage, at: time, meta } in traced {
            at.entry((clock::iso_text(time), stage)).or_default().push_back(meta);
        }
        for row in &mut rows {
            let meta = at.get_mut(&(row.created_at.clone(), row.stage.clone())).and_then(VecDeque::pop_front);
            put(row, meta);
        }
        rows
    })
    .await
}

/// Runs a turn again; one that does not fit its journal tells what it told up to there.
fn trace(stored: &StoredTurn, config: &Arc<Config>) -> Vec<Traced> {
    let Ok(journal) = decompress(&stored.journal) else { return Vec::new() };
    let Ok(Rescued { turn, slice, .. }) = Turn::retrace(&journal, Arc::clone(config)) else { return Vec::new() };
    let mut metas = turn.metas();
    let sent = &journal.input.event.params;
    let audit = |notice: Notice| match notice.body {
        NoticeBody::Audit { stage, .. } => {
            let mut meta = metas.remove(&notice.seq)?;
            if !sent.is_empty() {
                meta.insert("userInputParams".to_owned(), Value::Object(sent.clone()));
            }
            Some(Traced { stage, at: notice.at, meta })
        }
        NoticeBody::Verbose(_) => None,
    };
    slice.notices.into_iter().filter_map(audit).collect()
}

fn put(row: &mut AuditRow, meta: Option<Map>) {
    let Ok(Value::Object(mut payload)) = serde_json::from_str(&row.payload_json) else { return };
    let mut all = Map::new();
    all.insert("stage".to_owned(), json!(row.stage));
    all.insert("conversationId".to_owned(), json!(row.conversation_id));
    all.insert("emittedAt".to_owned(), json!(row.created_at));
    all.extend(meta.unwrap_or_else(|| Map::from_iter([("session".to_owned(), json!({"conversationId": row.conversation_id}))])));
    payload.insert("_meta".to_owned(), Value::Object(all));
    row.payload_json = Value::Object(payload).to_string();
}
