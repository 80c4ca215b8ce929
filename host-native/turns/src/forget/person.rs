//! Finds the conversations of a person by the values that are stored of them.
//!
//! What is looked at: input parameters and context of tables, with the values that were extracted from messages; variables, `user`, `visitor`
//! and parameters of sessions, also of those within them; bodies, variables and steps of chains; what the turns of all of these were given, by
//! their journals; and what they held in between, by replays of the turns that were given the value.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use convengine_core::config::Config;
use convengine_core::turn::{Map, Turn};
use convengine_storage::Connection;
use convengine_storage::forget::{self, StoredJournal, StoredValues};
use convengine_storage::run_blocking;
use convengine_storage::turn::{decompress, decompress_json_text};
use serde_json::Value;

use crate::audit::derive::ConfigCache;

/// Conversations and journals that are read at once.
const PAGE_SIZE: i64 = 100;
/// The largest number of conversations that a message names.
const MAX_NAMED: usize = 100;

/// Members of the state of a session or run that hold values of its user.
const STATE_MEMBERS: [&str; 4] = ["vars", "user", "visitor", "context"];
/// Members of an event that hold values of its user.
const EVENT_MEMBERS: [&str; 7] = ["params", "user", "visitor", "vars", "body", "fields", "edited_args"];
/// The variable of nested sessions, by the node that runs them.
const NESTED_SESSIONS: &str = "_child";

/// Why a search was not made.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// What is stored does not tell whose some conversations are.
    #[error("{0}")]
    Incomplete(String),
    /// The database failed.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

/// A value that the conversations of a person hold.
#[derive(Debug)]
struct Criterion {
    /// A member, or a path of members with dots between them.
    path: String,
    /// The value as text.
    value: String,
    /// A part of the value that no JSON escapes.
    excerpt: String,
}

/// The conversations that a search has found, and those that it could not read.
#[derive(Debug, Default)]
struct Findings {
    found: BTreeSet<String>,
    unreadable: BTreeSet<String>,
    /// Journals of turns that were given the value, and may have held it under the name only in between.
    to_replay: Vec<StoredJournal>,
}

/// Returns the conversations that hold each of these values under its name or path. `has_all_rows` is whether all conversations leave rows.
///
/// # Errors
/// Returns [`SearchError`]; [`SearchError::Incomplete`] with what to do when some conversations cannot be searched.
pub async fn list_conversations(
    connection: &mut Connection,
    person: &[(String, String)],
    has_all_rows: bool,
) -> Result<Vec<String>, SearchError> {
    let mut all: Option<BTreeSet<String>> = None;
    let mut unreadable = BTreeSet::new();
    for (path, value) in person {
        let findings = search(connection, Criterion::new(path, value)).await?;
        unreadable.extend(findings.unreadable);
        all = Some(match all {
            Some(before) => before.intersection(&findings.found).cloned().collect(),
            None => findings.found,
        });
    }
    let found = all.unwrap_or_default();
    if let Some(reason) = find_gap(connection, &unreadable, has_all_rows).await? {
        let by_id = "nothing was deleted; delete the conversations of the person by their ids";
        let known = if found.is_empty() { String::new() } else { format!(", also the ones that were found: {}", list_ids(&found)) };
        return Err(SearchError::Incomplete(format!("{reason}; {by_id}{known}")));
    }
    Ok(found.into_iter().collect())
}

/// Returns why some conversations cannot be searched; `None` when all can.
async fn find_gap(connection: &mut Connection, unreadable: &BTreeSet<String>, has_all_rows: bool) -> sqlx::Result<Option<String>> {
    if !unreadable.is_empty() {
        return Ok(Some(format!("what is stored of some conversations cannot be read: {}", list_ids(unreadable))));
    }
    if !has_all_rows {
        let reason = "conversations of tables leave no rows to search in (convengine.restate.conversation-rows=false)";
        return Ok(Some(reason.to_owned()));
    }
    let without_rows = forget::find_without_rows(connection).await?;
    Ok(without_rows.map(|id| format!("conversation {id} has an owner but no rows to search in; delete it first if you do not need it")))
}

fn list_ids(ids: &BTreeSet<String>) -> String {
    let named: Vec<&str> = ids.iter().take(MAX_NAMED).map(String::as_str).collect();
    let more = ids.len() - named.len();
    if more > 0 { format!("{} and {more} more", named.join(", ")) } else { named.join(", ") }
}

async fn search(connection: &mut Connection, criterion: Criterion) -> sqlx::Result<Findings> {
    let (criterion, mut findings) = (Arc::new(criterion), Findings::default());
    let mut after: Option<String> = None;
    loop {
        let page = forget::list_values(connection, &criterion.excerpt, after.as_deref(), PAGE_SIZE).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.conversation.clone());
        findings = examine(&criterion, findings, page, Findings::add_values).await?;
    }
    let (mut after, mut configs): (Option<String>, _) = (None, ConfigCache::default());
    loop {
        let page = forget::list_journals(connection, after.as_deref(), PAGE_SIZE).await?;
        let Some(last) = page.last() else { return Ok(findings) };
        after = Some(last.turn.clone());
        findings = examine(&criterion, findings, page, Findings::add_journal).await?;
        for journal in std::mem::take(&mut findings.to_replay) {
            if let Some(config) = configs.load_on(connection, &journal.snapshot).await? {
                findings = examine(&criterion, findings, vec![(journal, config)], Findings::add_replay).await?;
            }
        }
    }
}

/// Examines a page outside the threads that run turns.
async fn examine<T: Send + 'static>(
    criterion: &Arc<Criterion>,
    mut findings: Findings,
    page: Vec<T>,
    add: fn(&mut Findings, &Criterion, T),
) -> sqlx::Result<Findings> {
    let criterion = Arc::clone(criterion);
    let work = move || {
        page.into_iter().for_each(|it| add(&mut findings, &criterion, it));
        findings
    };
    run_blocking(work).await
}

impl Findings {
    fn add_values(&mut self, criterion: &Criterion, stored: StoredValues) {
        let state = stored.state.as_deref().map(parse);
        let is_found = [&stored.params, &stored.context].into_iter().any(|text| parse(text).is_some_and(|value| criterion.is_in(&value)))
            || state.iter().flatten().any(|it| criterion.is_in_state(it));
        if is_found {
            self.found.insert(stored.conversation);
        } else if state.is_some_and(|it| it.is_none()) {
            self.unreadable.insert(stored.conversation);
        }
    }

    fn add_journal(&mut self, criterion: &Criterion, stored: StoredJournal) {
        if self.found.contains(&stored.conversation) {
            return;
        }
        let text = decompress_json_text(&stored.journal).ok();
        if text.as_ref().is_some_and(|it| !it.contains(&criterion.excerpt)) {
            return;
        }
        match text.as_deref().and_then(parse) {
            Some(journal) if criterion.is_in_journal(&journal) => _ = self.found.insert(stored.conversation),
            Some(journal) if criterion.is_given_in(&journal) => self.to_replay.push(stored),
            Some(_) => {}
            None => _ = self.unreadable.insert(stored.conversation),
        }
    }

    /// Adds the conversation of a turn that held the value at the edge of a step. One that does not replay holds what it was given alone.
    fn add_replay(&mut self, criterion: &Criterion, (stored, config): (StoredJournal, Arc<Config>)) {
        if self.found.contains(&stored.conversation) {
            return;
        }
        let replayed = decompress(&stored.journal).ok().and_then(|journal| Turn::restore_observed(journal, config).ok());
        if replayed.is_some_and(|(turn, _)| turn.read_views(|views| views.iter().any(|it| criterion.is_in_view(&it.session)))) {
            self.found.insert(stored.conversation);
        }
    }
}

fn parse(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

impl Criterion {
    fn new(path: &str, value: &str) -> Criterion {
        let runs = value.split(|it: char| !it.is_ascii_alphanumeric());
        let excerpt = runs.fold("", |longest, it| if it.len() > longest.len() { it } else { longest });
        Criterion { path: path.to_owned(), value: without_nul(value), excerpt: excerpt.to_owned() }
    }

    /// Whether a value has it below the path.
    fn is_in(&self, root: &Value) -> bool {
        self.is_below(root, &self.path)
    }

    fn is_below(&self, node: &Value, path: &str) -> bool {
        match node {
            Value::Object(members) => {
                let of_path = |at: usize| Some((members.get(path.get(..at)?)?, path.get(at + 1..)?));
                members.get(path).is_some_and(|it| self.is_value(it))
                    || path.match_indices('.').filter_map(|it| of_path(it.0)).any(|(member, rest)| self.is_below(member, rest))
            }
            Value::Array(items) => items.iter().any(|it| self.is_below(it, path)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }

    /// Whether a value is the one that is searched for, or a list that has it. Numbers and Booleans are compared as text, too.
    fn is_value(&self, found: &Value) -> bool {
        match found {
            Value::String(text) => without_nul(text) == self.value,
            Value::Number(number) => number.to_string() == self.value || is_same_number(number.as_f64(), &self.value),
            Value::Bool(flag) => flag.to_string() == self.value,
            Value::Array(items) => items.iter().any(|item| !item.is_array() && self.is_value(item)),
            Value::Null | Value::Object(_) => false,
        }
    }

    /// Whether the state of a session or run has it.
    fn is_in_state(&self, state: &Value) -> bool {
        let member = |name: &str| state.get(name);
        let values = STATE_MEMBERS.iter().filter_map(|it| member(it)).chain(state.pointer("/trigger/body"));
        let is_direct = values.into_iter().any(|it| self.is_in(it)) || self.is_below_name(state, &STATE_MEMBERS);
        let items = |name: &str| member(name).and_then(Value::as_array).into_iter().flatten();
        let locals = items("stack").filter_map(|it| it.get("locals"));
        let steps = items("primary_trace").chain(items("branch_trace")).flat_map(|step| [step.get("input"), step.get("output")]).flatten();
        let nested = state.pointer(&format!("/vars/{NESTED_SESSIONS}")).and_then(Value::as_object).into_iter().flat_map(|it| it.values());
        let pending = items("pending_values").filter_map(|entry| entry.get("values")?.as_array()).flatten();
        let is_pending = pending.into_iter().any(|entry| {
            let of_variable = entry.get("variable").and_then(Value::as_str) == Some(self.path.as_str());
            of_variable && entry.get("value").is_some_and(|it| self.is_value(it))
        });
        is_direct
            || is_pending
            || locals.chain(steps).any(|it| self.is_in(it))
            || nested.chain(member("child")).any(|it| self.is_in_state(it))
    }

    /// Whether an event has it.
    fn is_in_event(&self, event: &Value) -> bool {
        EVENT_MEMBERS.iter().filter_map(|it| event.get(it)).any(|it| self.is_in(it)) || self.is_below_name(event, &EVENT_MEMBERS)
    }

    /// Whether it is below a path that begins with the name of a member, such as `user.id`.
    fn is_below_name(&self, object: &Value, names: &[&str]) -> bool {
        let Some((name, rest)) = self.path.split_once('.') else { return false };
        names.contains(&name) && object.get(name).is_some_and(|it| self.is_below(it, rest))
    }

    /// Whether a session has it between two steps of a turn.
    fn is_in_view(&self, session: &Map) -> bool {
        session.get("inputParams").is_some_and(|it| self.is_in(it)) || self.is_in_state(&Value::Object(session.clone()))
    }

    /// Whether the event of a turn or the result of an effect may have it, under whatever name.
    fn is_given_in(&self, journal: &Value) -> bool {
        let given = [journal.pointer("/input/event"), journal.get("entries")];
        given.into_iter().flatten().any(|value| value.to_string().contains(&self.excerpt))
    }

    /// Whether the input of a turn has it, or what the turn started from.
    fn is_in_journal(&self, journal: &Value) -> bool {
        let value = |pointer: &str| journal.pointer(pointer);
        let tables = ["/input/event/params", "/input/session/conversation/params", "/input/session/conversation/context"];
        tables.iter().filter_map(|it| value(it)).any(|it| self.is_in(it))
            || value("/input/event/flow").is_some_and(|it| self.is_in_event(it))
            || value("/input/session/flow").is_some_and(|it| self.is_in_state(it))
    }
}

/// Whether a text is a number of the same value.
fn is_same_number(number: Option<f64>, text: &str) -> bool {
    /// From here on, not every integer is a float.
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
    let (Some(number), Ok(parsed)) = (number, text.parse::<f64>()) else { return false };
    number.abs() < MAX_EXACT && number.total_cmp(&parsed).is_eq()
}

/// Replaces NUL as what PostgreSQL stores in its place; see `storage::nul::replace_nul`.
fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Parses `NAME=VALUE`.
///
/// # Errors
/// Returns the expected form.
pub fn parse_member(text: &str) -> Result<(String, String), String> {
    let found = text.split_once('=').map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
    found.filter(|member| !member.0.is_empty() && !member.1.is_empty()).ok_or_else(|| "use NAME=VALUE, such as customerId=C-17".to_owned())
}

/// Parses the `person` member of a request: an object of strings, numbers or Booleans.
///
/// # Errors
/// Returns the expected form.
pub fn parse_person(members: BTreeMap<String, Value>) -> Result<Vec<(String, String)>, String> {
    let wrong = || "invalid person; send {\"person\": {\"customerId\": \"C-17\"}} with values by name or by path".to_owned();
    let plain = |(name, value): (String, Value)| match value {
        Value::String(text) if !text.is_empty() => Ok((name, text)),
        Value::Number(_) | Value::Bool(_) => Ok((name, value.to_string())),
        Value::String(_) | Value::Null | Value::Array(_) | Value::Object(_) => Err(wrong()),
    };
    let person: Vec<(String, String)> = members.into_iter().map(plain).collect::<Result<_, _>>()?;
    if person.is_empty() { Err(wrong()) } else { Ok(person) }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use convengine_core::json::into_members;
    use convengine_core::turn::ConversationRow;
    use convengine_storage::call_log::CallLogColumns;
    use convengine_storage::commit::write;
    use convengine_storage::testing::{Database, each_database};
    use convengine_storage::turn::compress_json;
    use convengine_storage::turn_rows::{SessionRow, TurnRow, TurnRows};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_found_by_name_and_by_path() {
        let root = json!({"customerId": "C-17", "customer": {"id": 17, "vip": true, "tags": ["a", "b"]}, "a.b": "dotted",
            "orders": [{"id": 4}, {"id": 5.0}], "none": null, "nul": "x\0"});
        for (path, value, expected) in [
            ("customerId", "C-17", true),
            ("customerId", "c-17", false),
            ("customerId", "C-1", false),
            ("customerid", "C-17", false),
            ("customer.id", "17", true),
            ("customer.id", "17.0", true),
            ("customer.id", "1", false),
            ("id", "17", false),
            ("customer.vip", "true", true),
            ("customer.vip", "True", false),
            ("customer.tags", "b", true),
            ("customer", "17", false),
            ("a.b", "dotted", true),
            ("orders.id", "5", true),
            ("orders.id", "6", false),
            ("none", "null", false),
            ("nul", "x\u{fffd}", true),
            ("", "C-17", false),
            (".", "C-17", false),
        ] {
            assert_eq!(Criterion::new(path, value).is_in(&root), expected, "{path}={value}");
        }
    }

    #[test]
    fn states_and_events_are_searched_where_they_hold_values_of_users() {
        let session = json!({"status": "active", "locale": "de", "user": {"id": "u-1"}, "visitor": {"email": "ada@example.com"},
            "vars": {"customerId": "C-17", "_child": {"sub": {"vars": {"order": "O-9"}}}}, "stack": [{"locals": {"note": "n"}}],
            "pending_values": [{"request": 1, "values": [{"variable": "iban", "entity": "iban", "value": "DE00"}]}]});
        let run = json!({"status": "sleeping", "trigger": {"kind": "webhook", "body": {"customer": {"id": "C-18"}}}, "context": {"paid": true},
            "primary_trace": [{"step_id": "a", "output": {"ticket": "T-1"}}], "child": {"vars": {"email": "eve@example.com"}}});
        for (state, path, value, expected) in [
            (&session, "customerId", "C-17", true),
            (&session, "vars.customerId", "C-17", true),
            (&session, "user.id", "u-1", true),
            (&session, "id", "u-1", true),
            (&session, "email", "ada@example.com", true),
            (&session, "visitor.email", "ada@example.com", true),
            (&session, "order", "O-9", true),
            (&session, "note", "n", true),
            (&session, "iban", "DE00", true),
            (&session, "entity", "iban", false),
            (&session, "status", "active", false),
            (&session, "locale", "de", false),
            (&run, "customer.id", "C-18", true),
            (&run, "paid", "true", true),
            (&run, "ticket", "T-1", true),
            (&run, "email", "eve@example.com", true),
            (&run, "kind", "webhook", false),
            (&run, "step_id", "a", false),
        ] {
            assert_eq!(Criterion::new(path, value).is_in_state(state), expected, "{path}={value}");
        }
        let start = json!({"type": "session.start", "params": {"customerId": "C-17"}, "user": {"id": "u-1"}, "channel": "web"});
        for (path, value, expected) in
            [("customerId", "C-17", true), ("user.id", "u-1", true), ("params.customerId", "C-17", true), ("channel", "web", false)]
        {
            assert_eq!(Criterion::new(path, value).is_in_event(&start), expected, "{path}={value}");
        }
    }

    #[test]
    fn an_excerpt_is_what_no_json_escapes() {
        for (value, excerpt) in [("C-17", "17"), ("O'Neil", "Neil"), ("\u{e4}\u{f6}", ""), ("true", "true")] {
            assert_eq!(Criterion::new("name", value).excerpt, excerpt);
        }
    }

    const TABLES: &str = "5d0f3c1a-7a55-4a1e-9b61-1f0f3c8a0001";
    const SESSION: &str = "5d0f3c1a-7a55-4a1e-9b61-1f0f3c8a0002";
    const RESET: &str = "5d0f3c1a-7a55-4a1e-9b61-1f0f3c8a0003";
    const ELSEWHERE: &str = "5d0f3c1a-7a55-4a1e-9b61-1f0f3c8a0004";

    /// Stores a conversation of tables, a session, and a conversation whose first turn alone has the values.
    async fn store_conversations(database: &mut Database) {
        let mut rows = TurnRows::default();
        let row = |id: &str, params: Value, context: Value| ConversationRow {
            conversation_id: id.to_owned(),
            status: "RUNNING".to_owned(),
            intent_code: "A".to_owned(),
            state_code: "B".to_owned(),
            context: Arc::new(into_members(context)),
            last_user_text: None,
            last_assistant: None,
            params: Arc::new(into_members(params)),
            created_at: 1,
            updated_at: 1,
        };
        rows.add_conversation(&row(TABLES, json!({"customer": {"id": 17}}), json!({"email": "ada@example.com"})));
        rows.add_conversation(&row(RESET, json!({}), json!({})));
        rows.add_created_conversation(SESSION, 1);
        let state = json!({"status": "active", "seq": 1, "user": {"id": "u-1"}, "vars": {"email": "ada@example.com", "note": "u-2 \u{0}"}});
        let session =
            SessionRow { session: SESSION, assistant: "desk", deployment: None, version: None, snapshot: "sha256:a", state: &state, at: 1 };
        rows.add_session(&session);
        let journal = compress_json(&json!({"header": {}, "input": {"event": {"params": {"customer": {"id": "C-9"}}}}, "entries": []}));
        let journal = journal.expect("a journal");
        let turn = TurnRow { turn_id: RESET, conversation_id: RESET, number: 1, status: "closed", journal: &journal, ..TurnRow::default() };
        rows.add_turn(&turn);
        write(&mut database.connection, &rows, CallLogColumns::Plain).await.expect("written");
    }

    #[tokio::test]
    async fn conversations_of_a_person_are_found_in_all_that_is_stored() {
        for mut database in each_database().await {
            store_conversations(&mut database).await;
            let connection = &mut database.connection;
            for (person, expected) in [
                (vec![("customer.id", "17")], vec![TABLES]),
                (vec![("email", "ada@example.com")], vec![TABLES, SESSION]),
                (vec![("email", "ada@example.com"), ("user.id", "u-1")], vec![SESSION]),
                (vec![("email", "ADA@example.com")], vec![]),
                (vec![("id", "u-2")], vec![]),
                (vec![("note", "u-2 \0")], vec![SESSION]),
                (vec![("customer.id", "C-9")], vec![RESET]),
                (vec![("no\0", "C-9\0")], vec![]),
            ] {
                let person: Vec<(String, String)> = person.into_iter().map(|member| (member.0.to_owned(), member.1.to_owned())).collect();
                assert_eq!(list_conversations(connection, &person, true).await.expect("an answer"), expected, "{person:?}");
            }
        }
    }

    #[tokio::test]
    async fn a_search_that_cannot_be_complete_is_refused() {
        for mut database in each_database().await {
            store_conversations(&mut database).await;
            let connection = &mut database.connection;
            let person = [("email".to_owned(), "ada@example.com".to_owned())];
            let refuse = async |connection: &mut Connection, has_all_rows| match list_conversations(connection, &person, has_all_rows).await
            {
                Err(SearchError::Incomplete(reason)) => reason,
                other => panic!("it is not refused: {other:?}"),
            };
            let reason = refuse(connection, false).await;
            assert!(reason.contains("conversation-rows") && reason.contains(TABLES) && reason.contains(SESSION), "{reason}");
            let mut rows = TurnRows::default();
            rows.add_owner(ELSEWHERE, "somebody");
            write(connection, &rows, CallLogColumns::Plain).await.expect("written");
            assert!(refuse(connection, true).await.contains(ELSEWHERE));
            let mut rows = TurnRows::default();
            rows.add_turn(&TurnRow {
                turn_id: ELSEWHERE,
                conversation_id: ELSEWHERE,
                number: 1,
                status: "lost",
                journal: b"x",
                ..TurnRow::default()
            });
            write(connection, &rows, CallLogColumns::Plain).await.expect("written");
            let reason = refuse(connection, true).await;
            assert!(reason.contains("cannot be read") && reason.contains(ELSEWHERE), "{reason}");
        }
    }

    /// Ten thousand sessions, each with a journal, are searched within seconds, also without optimisation.
    #[tokio::test]
    async fn ten_thousand_conversations_are_searched_within_seconds() {
        for mut database in each_database().await {
            let mut rows = TurnRows::default();
            let filler = "and so on ".repeat(20);
            let id = |number: usize| format!("5d0f3c1a-7a55-4a1e-9b61-1f0f3c8{number:05}");
            for number in 0..10_000 {
                let id = id(number);
                let state = json!({"status": "active", "seq": 1, "vars": {"customerId": format!("C-{number:05}"), "text": filler}});
                let session = SessionRow {
                    session: &id,
                    assistant: "desk",
                    deployment: None,
                    version: None,
                    snapshot: "sha256:a",
                    state: &state,
                    at: 1,
                };
                let journal = compress_json(&json!({"input": {"event": {"flow": {"params": {"customerId": number}}}, "text": filler}}));
                let journal = journal.expect("a journal");
                rows.add_created_conversation(&id, 1);
                rows.add_session(&session);
                rows.add_turn(&TurnRow {
                    turn_id: &id,
                    conversation_id: &id,
                    number: 1,
                    status: "closed",
                    journal: &journal,
                    ..TurnRow::default()
                });
            }
            let connection = &mut database.connection;
            connection.begin().await.expect("a transaction");
            write(connection, &rows, CallLogColumns::Plain).await.expect("written");
            connection.commit().await.expect("committed");
            let person = [("customerId".to_owned(), "C-07777".to_owned())];
            let started = Instant::now();
            assert_eq!(list_conversations(connection, &person, true).await.expect("an answer"), [id(7_777)]);
            assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
        }
    }
}
