//! Migrates a waiting session to another version of its document (docs/spec/flows.md#13).
//!
//! The version that a session runs on says whether it may leave it, the new version what happens to nodes and variables. A session that
//! cannot be migrated stays; it is never left between two versions.

use convengine_config::flow::Flow;
use convengine_config::flow::document::{Node, NodeKind, VersionPolicy};
use serde::{Deserialize, Serialize};
use serde_json::{Map as Members, Value, json};

use super::state::{AwaitingKind, Frame, FrameKind, Resume, SessionState};

/// How a session is migrated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MigrationKind {
    /// It continues at the same nodes.
    #[serde(rename = "maps")]
    Mapped,
    /// Its user is asked again: the slot has another entity, or a node no longer exists.
    #[serde(rename = "reasks")]
    Reasked,
    /// It stays on its version.
    #[serde(rename = "stays")]
    Pinned,
}

/// The result of migrating a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Migration {
    /// How the session is migrated.
    pub kind: MigrationKind,
    /// Whether it stays because one of its nodes no longer exists.
    pub is_lost: bool,
    /// Its state in the new version; unchanged when it stays.
    pub state: Value,
    /// The audit payload: `{from, to, mapped, dropped, moved, reset}`; frames as `graph/node`, `moved` has those with another id by the one
    /// before, and `reset` is what the session was reset for: a `node` that is gone or another `entity`.
    pub report: Value,
}

/// The migration that a document declares for sessions of another version.
#[derive(Debug, Default)]
struct DeclaredMigration<'v> {
    nodes: Option<&'v Members<String, Value>>,
    vars: Vec<&'v Value>,
    unmappable: &'v str,
}

/// Migrates a session state from one version to another. `source` is the new document, whose `meta` declares migrations, and `snapshot` its
/// hash. A state that cannot be read stays, and so does one whose version has the policy `pin`.
///
/// The host stores nothing: it passes the new state to the next turn, with the report as the member `migrated` of the event, so that the
/// trace tells it.
///
/// ```
/// use convengine_config::flow::{Flow, snapshot_hash};
/// use convengine_flow::{MigrationKind, migrate};
/// use serde_json::json;
///
/// let version = |name: &str| {
///     let start = json!({"id": "start", "type": "start", "name": "Start", "data": {}});
///     json!({
///         "schema_version": "1.0", "doc": "conversation_flow", "id": "hello", "name": name, "root": "root",
///         "graphs": [{"id": "root", "kind": "root", "entry": "start", "nodes": [start], "edges": []}],
///     })
/// };
/// let (old, new) = (version("Hello"), version("Hello again"));
/// let unreadable = json!({"schema_version": "1.0"});
/// let migration = migrate(&Flow::compile(&old)?, &Flow::compile(&new)?, &new, &snapshot_hash(&new), &unreadable);
/// assert_eq!((migration.kind, migration.state), (MigrationKind::Pinned, unreadable));
/// # Ok::<(), String>(())
/// ```
pub fn migrate(from: &Flow, to: &Flow, source: &Value, snapshot: &str, state: &Value) -> Migration {
    let pinned = |is_lost| Migration { kind: MigrationKind::Pinned, is_lost, state: state.clone(), report: Value::Null };
    let Ok(mut session) = SessionState::deserialize(state) else { return pinned(false) };
    let is_allowed = match from.document.settings.version_policy {
        VersionPolicy::Pin => false,
        VersionPolicy::MigrateAtRoot => session.stack.len() <= 1 && session.awaiting.is_none(),
        VersionPolicy::MigrateEager => true,
    };
    let declared = DeclaredMigration::from_document(source, &session.snapshot);
    let before: Vec<String> = session.stack.iter().map(frame_key).collect();
    let lost = session.stack.iter_mut().position(|it| !declared.map_frame(from, to, it));
    let is_pinned = lost.is_some() && declared.unmappable == "stay_pinned";
    if !is_allowed || is_pinned {
        return pinned(is_allowed);
    }
    declared.rename_stored_ids(from, to, &mut session);
    let moved: Members<String, Value> = before
        .iter()
        .zip(&session.stack)
        .take(lost.unwrap_or(before.len()))
        .filter(|(key, frame)| **key != frame_key(frame))
        .map(|(key, frame)| (key.clone(), json!(frame_key(frame))))
        .collect();
    let (mut kind, mut reset) = (MigrationKind::Mapped, None);
    match lost {
        Some(at) => {
            (kind, reset) = (MigrationKind::Reasked, Some("node"));
            reset_unmappable(&mut session, to, at, declared.unmappable);
        }
        None if has_other_entity(from, to, &before, &session) => {
            (kind, reset) = (MigrationKind::Reasked, Some("entity"));
            reask_slot(&mut session);
        }
        None => {}
    }
    for change in &declared.vars {
        apply_variable_change(&mut session, change);
    }
    let mapped: Vec<&String> = before.iter().take(lost.unwrap_or(before.len())).collect();
    let dropped: Vec<&String> = before.iter().skip(lost.unwrap_or(before.len())).collect();
    let report = json!({"from": session.snapshot, "to": snapshot, "mapped": mapped, "dropped": dropped, "moved": moved, "reset": reset});
    snapshot.clone_into(&mut session.snapshot);
    let active = session.stack.iter().rev().find_map(|it| it.intent_id.clone());
    session.vars.insert("_active_intent_id".to_owned(), json!(active));
    Migration { kind, is_lost: false, state: serde_json::to_value(&session).unwrap_or_default(), report }
}

impl<'v> DeclaredMigration<'v> {
    fn from_document(source: &'v Value, snapshot: &str) -> DeclaredMigration<'v> {
        let declared = source.pointer("/meta/migrations").and_then(Value::as_array).into_iter().flatten();
        let hash = |text: &str| text.trim_start_matches("sha256:").to_owned();
        let mut matching = declared.filter(|migration| {
            migration.get("from_hash").and_then(Value::as_str).is_some_and(|from_hash| hash(from_hash) == hash(snapshot))
        });
        let Some(found) = matching.next() else {
            return DeclaredMigration { unmappable: "restart_intent", ..DeclaredMigration::default() };
        };
        DeclaredMigration {
            nodes: found.get("nodes").and_then(Value::as_object),
            vars: found.get("vars").and_then(Value::as_array).into_iter().flatten().collect(),
            unmappable: found.get("unmappable").and_then(Value::as_str).unwrap_or("restart_intent"),
        }
    }

    /// The new id of a node, when it is renamed.
    fn renamed_node(&self, graph: &str, id: &str) -> Option<&'v str> {
        let found = self.nodes.and_then(|nodes| nodes.get(&format!("{graph}/{id}")).or_else(|| nodes.get(id)))?.as_str()?;
        Some(found.rsplit_once('/').map_or(found, |it| it.1))
    }

    /// Moves counters and agent memories, which are stored by node, to the places of their nodes in the new version, all at once: a
    /// node may get the id that another one had.
    fn rename_stored_ids(&self, from: &Flow, to: &Flow, session: &mut SessionState) {
        let nodes = from.document.graphs.iter().flat_map(|graph| graph.nodes.iter().map(|node| (graph.id.as_str(), node.id.as_str())));
        let nodes: Vec<_> = nodes.map(|(graph, old)| (graph, old, self.renamed_node(graph, old).unwrap_or(old))).collect();
        let counters = &mut session.counters;
        for counts in [&mut counters.attempts, &mut counters.visits, &mut counters.sequence] {
            let renamed = nodes.iter().filter(|it| it.1 != it.2);
            let moved: Vec<_> = renamed
                .filter_map(|(graph, old, new)| Some((format!("{graph}/{new}"), counts.remove(&format!("{graph}/{old}"))?)))
                .collect();
            counts.extend(moved);
        }
        let variables =
            nodes.iter().map(|(graph, old, new)| (from.agent_memory_variable(graph, old), to.agent_memory_variable(graph, new)));
        let moved: Vec<_> =
            variables.filter(|it| it.0 != it.1).filter_map(|(old, new)| Some((new, session.vars.shift_remove(&old)?))).collect();
        session.vars.extend(moved);
        // The frame of what is awaited has been mapped already.
        if let (Some(awaiting), Some(frame)) = (&mut session.awaiting, session.stack.last())
            && self.renamed_node(&frame.graph, &awaiting.node) == Some(frame.node.as_str())
        {
            frame.node.clone_into(&mut awaiting.node);
        }
    }

    /// Maps a frame. Returns `false` when its node does not exist in the new version.
    fn map_frame(&self, from: &Flow, to: &Flow, frame: &mut Frame) -> bool {
        let kind = from.node(&frame.graph, &frame.node).map(|it| it.type_name.clone());
        let renamed = |id: &str| self.renamed_node(&frame.graph, id).map(str::to_owned);
        let node = renamed(&frame.node).unwrap_or_else(|| frame.node.clone());
        let caller = frame.return_to.as_ref().map(|id| renamed(id).unwrap_or_else(|| id.clone()));
        if to.node(&frame.graph, &node).map(|it| &it.type_name) != kind.as_ref() || kind.is_none() {
            return false;
        }
        frame.node = node;
        frame.return_to = caller;
        true
    }
}

/// Resets a session with an unmappable frame: to the entry of its intent, or to the root.
fn reset_unmappable(session: &mut SessionState, to: &Flow, lost: usize, policy: &str) {
    session.awaiting = None;
    session.vars.shift_remove("_slot");
    let intent = session.stack.iter().take(lost + 1).rposition(|it| it.kind == FrameKind::Intent);
    let entry = |frame: &Frame| to.graph(&frame.graph).map(|it| it.definition.entry.clone());
    let restarts = intent.filter(|_| policy != "to_root").and_then(|at| Some((at, entry(session.stack.get(at)?)?)));
    if let Some((at, node)) = restarts {
        session.stack.truncate(at + 1);
        if let Some(frame) = session.stack.last_mut() {
            frame.node = node;
            frame.resume = Some(Resume::After);
        }
        return;
    }
    session.stack.truncate(1);
    let root = to.graph(&to.document.root).map(|graph| (graph.definition.id.clone(), graph.definition.entry.clone()));
    if let (Some(frame), Some((graph, node))) = (session.stack.last_mut(), root) {
        // The root frame itself is unmappable.
        if lost == 0 {
            (frame.graph, frame.node) = (graph, node);
        }
        frame.resume = None;
    }
}

/// Whether the awaited slot has another entity.
fn has_other_entity(from: &Flow, to: &Flow, before: &[String], session: &SessionState) -> bool {
    let is_slot_awaited = session.awaiting.as_ref().is_some_and(|it| it.kind == AwaitingKind::Entity);
    let (Some(old), Some(frame)) = (before.last().and_then(|it| it.split_once('/')), session.stack.last()) else { return false };
    let variable = session.awaiting.as_ref().and_then(|it| it.variable.clone()).unwrap_or_default();
    is_slot_awaited
        && asked_entity(from, from.node(old.0, old.1), &variable) != asked_entity(to, to.node(&frame.graph, &frame.node), &variable)
}

/// The entity that a node asks for: its own, or that of a parameter of its intent.
fn asked_entity(flow: &Flow, node: Option<&Node>, variable: &str) -> Option<String> {
    if let NodeKind::Intent(data) = &node?.kind {
        let parameters = flow.intent(&data.intent_id).into_iter().flat_map(|it| &it.parameters);
        return parameters.into_iter().find(|parameter| parameter.variable.to_string() == variable).map(|it| it.entity.clone());
    }
    if let NodeKind::Entity(data) = &node?.kind { Some(data.entity.clone()) } else { None }
}

fn reask_slot(session: &mut SessionState) {
    session.awaiting = None;
    session.vars.shift_remove("_slot");
    if let Some(frame) = session.stack.last_mut() {
        session.counters.attempts.remove(&format!("{}/{}", frame.graph, frame.node));
        frame.resume = Some(Resume::After);
    }
}

/// Applies a declared change to a variable: `{rename, to}`, `{default, value}` or `{drop}`.
fn apply_variable_change(session: &mut SessionState, change: &Value) {
    let text = |key: &str| change.get(key).and_then(Value::as_str);
    if let (Some(old), Some(new)) = (text("rename"), text("to"))
        && let Some(value) = session.vars.shift_remove(old)
    {
        session.vars.insert(new.to_owned(), value);
        for slot in session.filled_slots.iter_mut().filter(|it| it.variable == old) {
            new.clone_into(&mut slot.variable);
        }
    }
    if let Some(name) = text("default")
        && session.vars.get(name).is_none_or(Value::is_null)
    {
        session.vars.insert(name.to_owned(), change.get("value").cloned().unwrap_or_default());
    }
    if let Some(name) = text("drop") {
        session.vars.shift_remove(name);
        session.filled_slots.retain(|it| it.variable != name);
    }
}

fn frame_key(frame: &Frame) -> String {
    format!("{}/{}", frame.graph, frame.node)
}

#[cfg(test)]
mod tests {
    use convengine_config::flow::snapshot_hash;

    use super::*;

    fn document(nodes: &Value, edges: &Value, policy: &str) -> Value {
        let root = json!([{"id": "start", "type": "start", "name": "Start", "data": {}},
            {"id": "idle", "type": "end", "name": "Idle", "data": {"end_session": false}}]);
        json!({
            "schema_version": "1.0", "doc": "conversation_flow", "id": "desk", "name": "Desk", "root": "root",
            "graphs": [
                {"id": "root", "kind": "root", "name": "Root", "entry": "start", "nodes": root,
                 "edges": [{"id": "e", "source": "start", "target": "idle"}]},
                {"id": "g", "kind": "intent", "name": "G", "entry": "asked", "nodes": nodes, "edges": edges},
            ],
            "intents": [{"id": "book", "name": "Book", "phrases": ["book a table"], "graph": "g"}],
            "settings": {"version_policy": policy},
        })
    }

    fn nodes(slot: &str, entity: &str) -> Value {
        json!([{"id": "asked", "type": "intent", "name": "Asked", "data": {"intent_id": "book"}},
            {"id": slot, "type": "entity", "name": "How many", "data": {"variable": "people", "entity": entity, "prompt": "How many?"}},
            {"id": "done", "type": "end", "name": "Done", "data": {}}])
    }

    fn edges(slot: &str) -> Value {
        json!([{"id": "a", "source": "asked", "target": slot}, {"id": "b", "source": slot, "target": "done"}])
    }

    fn state(document: &Value, waits: bool) -> Value {
        let mut stack = vec![json!({"graph": "root", "node": "idle", "kind": "root"})];
        let mut awaiting = Value::Null;
        if waits {
            stack.push(json!({"graph": "g", "node": "slot", "kind": "intent", "intent_id": "book"}));
            awaiting = json!({"kind": "entity", "node": "slot", "entity": "@number", "variable": "people"});
        }
        json!({
            "schema_version": "1.0", "session_id": "s", "program": "assistant", "snapshot": snapshot_hash(document), "status": "active", "turn": 2,
            "seq": 3, "vars": {"name": "Ada", "_agent_memory_slot": {"v": 1}}, "counters": {"attempts": {"g/slot": 1, "g/asked": 7}}, "stack": stack, "awaiting": awaiting,
        })
    }

    fn migrate_session(from: &Value, to: &Value, waits: bool) -> Migration {
        let compiled = [from, to].map(|version| Flow::compile(version).unwrap());
        migrate(&compiled[0], &compiled[1], to, &snapshot_hash(to), &state(from, waits))
    }

    #[test]
    fn a_session_is_mapped_reasked_or_pinned() {
        let version = |policy: &str, slot: &str, entity: &str| document(&nodes(slot, entity), &edges(slot), policy);
        let from = version("migrate_eager", "slot", "@number");
        for (to, waits, kind, top) in [
            (version("pin", "slot", "@number"), true, MigrationKind::Mapped, "g/slot"),
            (version("pin", "slot", "@string"), true, MigrationKind::Reasked, "g/slot"),
            (version("pin", "other", "@number"), true, MigrationKind::Reasked, "g/asked"),
            (version("pin", "other", "@number"), false, MigrationKind::Mapped, "root/idle"),
        ] {
            let Migration { kind: found, state, report, .. } = migrate_session(&from, &to, waits);
            let session: SessionState = serde_json::from_value(state).unwrap();
            assert_eq!((found, session.stack.last().map(frame_key).as_deref()), (kind, Some(top)));
            assert_eq!(
                (session.snapshot.as_str(), session.awaiting.is_some()),
                (snapshot_hash(&to).as_str(), kind == MigrationKind::Mapped && waits)
            );
            assert_eq!((&report["from"], &report["to"]), (&json!(snapshot_hash(&from)), &json!(snapshot_hash(&to))));
        }
        for (policy, waits, kind) in [
            ("pin", true, MigrationKind::Pinned),
            ("pin", false, MigrationKind::Pinned),
            ("migrate_at_root", true, MigrationKind::Pinned),
            ("migrate_at_root", false, MigrationKind::Mapped),
        ] {
            let found = migrate_session(&version(policy, "slot", "@number"), &version("pin", "slot", "@number"), waits);
            assert_eq!((found.kind, found.is_lost), (kind, false), "{policy}");
        }
    }

    #[test]
    fn a_parameter_with_another_entity_is_asked_again() {
        let document = |entity: &str| {
            let nodes = json!([{"id": "asked", "type": "intent", "name": "Asked", "data": {"intent_id": "book"}},
                {"id": "done", "type": "end", "name": "Done", "data": {}}]);
            let mut document = document(&nodes, &json!([{"id": "a", "source": "asked", "target": "done"}]), "migrate_eager");
            document["intents"][0]["parameters"] = json!([{"variable": "people", "entity": entity, "prompt": "How many?"}]);
            document
        };
        let from = document("@number");
        let mut state = state(&from, true);
        state["stack"][1]["node"] = json!("asked");
        state["awaiting"]["node"] = json!("asked");
        for (to, kind) in [(document("@number"), MigrationKind::Mapped), (document("@date"), MigrationKind::Reasked)] {
            let compiled = [&from, &to].map(|version| Flow::compile(version).unwrap());
            let migration = migrate(&compiled[0], &compiled[1], &to, &snapshot_hash(&to), &state);
            let is_waiting = !migration.state["awaiting"].is_null();
            assert_eq!((migration.kind, is_waiting), (kind, kind == MigrationKind::Mapped));
        }
    }

    #[test]
    fn declared_migrations_take_precedence() {
        let from = document(&nodes("slot", "@number"), &edges("slot"), "migrate_eager");
        let to = |declared: Value| {
            let mut to = document(&nodes("seats", "@number"), &edges("seats"), "pin");
            let mut declared = declared;
            declared["from_hash"] = json!(snapshot_hash(&from));
            to["meta"] = json!({"migrations": [declared]});
            migrate_session(&from, &to, true)
        };
        let vars = json!([{"rename": "name", "to": "guest"}, {"default": "seats", "value": 2}, {"drop": "_slot"}]);
        let moved = to(json!({"nodes": {"slot": "seats"}, "vars": vars}));
        let counted = (&moved.state["counters"]["attempts"], &moved.state["vars"]["_agent_memory_seats"], &moved.state["awaiting"]["node"]);
        assert_eq!(
            counted,
            (&json!({"g/seats": 1, "g/asked": 7}), &json!({"v": 1}), &json!("seats")),
            "what is stored by node id is renamed"
        );
        assert_eq!(moved.state["vars"]["_agent_memory_slot"], Value::Null);
        let chained = to(json!({"nodes": {"slot": "seats", "asked": "slot"}}));
        assert_eq!(chained.state["counters"]["attempts"], json!({"g/seats": 1, "g/slot": 7}), "a node gets the id that another one had");
        assert_eq!((moved.kind, &moved.state["stack"][1]["node"]), (MigrationKind::Mapped, &json!("seats")));
        assert_eq!((&moved.report["moved"], &moved.report["reset"]), (&json!({"g/slot": "g/seats"}), &Value::Null));
        assert_eq!((&moved.state["vars"]["guest"], &moved.state["vars"]["seats"]), (&json!("Ada"), &json!(2)));
        let pinned = to(json!({"unmappable": "stay_pinned"}));
        assert_eq!((pinned.kind, pinned.is_lost), (MigrationKind::Pinned, true));
        let idle = to(json!({"unmappable": "to_root"}));
        assert_eq!((idle.kind, idle.state["stack"].as_array().map(Vec::len)), (MigrationKind::Reasked, Some(1)));
        assert_eq!(idle.state["vars"]["_active_intent_id"], Value::Null);
    }
}
