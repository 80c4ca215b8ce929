//! The `_meta` member of audit payloads: session data that the original engine stored and this one derives by replay.
//! (docs/spec/data-and-api.md#7.2)

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use convengine_core::config::Config;
use convengine_core::turn::{Journal, Map, Millis, Notice, NoticeBody, RescuedTurn, Turn, TurnInput};
use convengine_host_base::clock;
use convengine_storage::Pool;
use convengine_storage::audit::AuditRow;
use convengine_storage::turn::{StoredTurn, decompress, list_ended};
use serde_json::{Value, json};

use super::derive::{ConfigCache, DerivedRow};

/// The `_meta` of one audit notice of a turn.
struct NoticeMeta {
    stage: String,
    at: Millis,
    meta: Map,
}

/// Adds `_meta` to the payloads of a conversation's rows. Rows without a replayable turn, such as feedback, get only the members known
/// from the row itself.
pub async fn add_meta(pool: &Pool, conversation: &str, mut configs: ConfigCache, mut rows: Vec<AuditRow>) -> sqlx::Result<Vec<AuditRow>> {
    let mut found = Vec::new();
    for turn in list_ended(pool, conversation).await? {
        let config = configs.load(pool, &turn.config_hash).await?;
        found.push((turn, config));
    }
    convengine_storage::run_blocking(move || {
        let traced = found.iter().flat_map(|(turn, config)| config.as_ref().map_or_else(Vec::new, |it| retrace_turn(turn, it)));
        let mut at: BTreeMap<(String, String), VecDeque<Map>> = BTreeMap::new();
        for NoticeMeta { stage, at: time, meta } in traced {
            at.entry((clock::format_iso(time), stage)).or_default().push_back(meta);
        }
        for row in &mut rows {
            let meta = at.get_mut(&(row.created_at.clone(), row.stage.clone())).and_then(VecDeque::pop_front);
            put_meta(row, meta);
        }
        rows
    })
    .await
}

/// Returns the `_meta` of each notice by sequence number, as far as the journal replays.
pub fn metas_by_notice(journal: &Journal, config: &Arc<Config>) -> BTreeMap<u32, Map> {
    let Ok(RescuedTurn { turn, .. }) = Turn::rescue_with_audit_metadata(journal, Arc::clone(config)) else { return BTreeMap::new() };
    turn.audit_metadata()
}

/// Returns the notices with `_meta` added to their audit payloads, for storing.
pub fn notices_with_meta(input: &TurnInput, notices: &[Notice], metas: &BTreeMap<u32, Map>) -> Vec<Notice> {
    let with = |notice: &Notice| match &notice.body {
        NoticeBody::Audit { stage, payload } => {
            let Value::Object(payload) = payload.to_value().into_owned() else { return notice.clone() };
            let meta = metas.get(&notice.seq).map(|meta| with_input_params(meta.clone(), &input.event.params));
            let payload = payload_with_meta(payload, stage, &input.conversation, &clock::format_iso(notice.at), meta);
            Notice { body: NoticeBody::Audit { stage: stage.clone(), payload: Value::Object(payload).into() }, ..notice.clone() }
        }
        NoticeBody::Verbose(_) | NoticeBody::Message { .. } => notice.clone(),
    };
    notices.iter().map(with).collect()
}

/// Adds `_meta` to derived rows.
pub fn add_meta_to_derived(stored: &StoredTurn, config: &Arc<Config>, rows: &mut [DerivedRow]) {
    let mut at: BTreeMap<(Millis, String), VecDeque<Map>> = BTreeMap::new();
    // Rows stored while the turn ran are not among the derived rows.
    for NoticeMeta { stage, at: time, meta } in retrace_turn(stored, config).into_iter().rev().take(rows.len()).rev() {
        at.entry((time, stage)).or_default().push_back(meta);
    }
    for row in rows {
        let meta = at.get_mut(&(row.at, row.stage.clone())).and_then(VecDeque::pop_front);
        let Ok(Value::Object(payload)) = serde_json::from_str(&row.payload) else { continue };
        let payload = payload_with_meta(payload, &row.stage, &stored.conversation_id, &clock::format_iso(row.at), meta);
        row.payload = Value::Object(payload).to_string();
    }
}

/// Removes `_meta` from the payloads of stored rows.
pub fn strip_meta(rows: &mut [AuditRow]) {
    for row in rows.iter_mut().filter(|it| it.payload_json.contains("\"_meta\"")) {
        let Ok(Value::Object(mut payload)) = serde_json::from_str(&row.payload_json) else { continue };
        if payload.shift_remove("_meta").is_some() {
            row.payload_json = Value::Object(payload).to_string();
        }
    }
}

/// Replays a turn and returns its audit metadata, up to the point where it diverges from its journal.
fn retrace_turn(stored: &StoredTurn, config: &Arc<Config>) -> Vec<NoticeMeta> {
    let Ok(journal) = decompress(&stored.journal) else { return Vec::new() };
    let Ok(RescuedTurn { turn, slice, .. }) = Turn::rescue_with_audit_metadata(&journal, Arc::clone(config)) else { return Vec::new() };
    let mut metas = turn.audit_metadata();
    let sent = &journal.input.event.params;
    let audit = |notice: Notice| match notice.body {
        NoticeBody::Audit { stage, .. } => {
            let meta = with_input_params(metas.remove(&notice.seq)?, sent);
            Some(NoticeMeta { stage: stage.into_owned(), at: notice.at, meta })
        }
        NoticeBody::Verbose(_) | NoticeBody::Message { .. } => None,
    };
    slice.notices.into_iter().filter_map(audit).collect()
}

fn with_input_params(mut meta: Map, sent: &Map) -> Map {
    if !sent.is_empty() {
        meta.insert("userInputParams".to_owned(), Value::Object(sent.clone()));
    }
    meta
}

/// Adds `_meta` to a row unless it was stored with it.
fn put_meta(row: &mut AuditRow, meta: Option<Map>) {
    let Ok(Value::Object(payload)) = serde_json::from_str::<Value>(&row.payload_json) else { return };
    if !payload.get("_meta").is_some_and(Value::is_object) {
        let payload = payload_with_meta(payload, &row.stage, &row.conversation_id, &row.created_at, meta);
        row.payload_json = Value::Object(payload).to_string();
    }
}

/// Returns a payload with `_meta`. Without `meta`, only the members known from the row itself are set.
pub fn payload_with_meta(mut payload: Map, stage: &str, conversation: &str, at: &str, meta: Option<Map>) -> Map {
    let mut all = Map::new();
    all.insert("stage".to_owned(), json!(stage));
    all.insert("conversationId".to_owned(), json!(conversation));
    all.insert("emittedAt".to_owned(), json!(at));
    all.extend(meta.unwrap_or_else(|| Map::from_iter([("session".to_owned(), json!({"conversationId": conversation}))])));
    payload.insert("_meta".to_owned(), Value::Object(all));
    payload
}
