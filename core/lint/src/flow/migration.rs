//! Declared migrations of sessions. (M001)

use convengine_config::flow::DocumentIssue;
use serde_json::Value;

use super::context::{FlowContext, Location};

/// The members of a migration.
const MEMBERS: [&str; 4] = ["from_hash", "nodes", "vars", "unmappable"];

/// What may happen to a session with a node that is gone.
const UNMAPPABLE: [&str; 3] = ["restart_intent", "to_root", "stay_pinned"];

/// The forms of a change to a variable: the member that makes it one, and the member that it also needs.
const CHANGES: [(&str, Option<&str>); 3] = [("rename", Some("to")), ("default", Some("value")), ("drop", None)];

/// The digits of a SHA-256.
const HASH_DIGITS: usize = 64;

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    let Some(declared) = context.source.pointer("/meta/migrations") else { return };
    let mut checker = MigrationChecker { context, findings };
    let Some(migrations) = declared.as_array() else {
        return checker.report("/meta/migrations", "expected a list of migrations", "write a list of objects");
    };
    for (at, migration) in migrations.iter().enumerate() {
        checker.check_migration(&format!("/meta/migrations/{at}"), migration);
    }
}

struct MigrationChecker<'c, 'g, 'f> {
    context: &'c FlowContext<'g>,
    findings: &'f mut Vec<DocumentIssue>,
}

impl MigrationChecker<'_, '_, '_> {
    fn report(&mut self, path: &str, message: impl Into<String>, fix: &str) {
        let location = Location { path: path.to_owned(), ..Location::default() };
        self.findings.push(location.error("M001", message.into()).with_fix(fix));
    }

    fn check_migration(&mut self, path: &str, migration: &Value) {
        let Some(members) = migration.as_object() else {
            return self.report(path, "expected an object for each migration", "write an object");
        };
        if let Some(unknown) = members.keys().find(|key| !MEMBERS.contains(&key.as_str())) {
            self.report(&format!("{path}/{unknown}"), format!("unknown member '{unknown}'"), "use from_hash, nodes, vars or unmappable");
        }
        let is_hash = |hash: &str| {
            let digits = hash.strip_prefix("sha256:").unwrap_or(hash);
            digits.len() == HASH_DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
        };
        if !members.get("from_hash").and_then(Value::as_str).is_some_and(is_hash) {
            let fix = "copy the snapshot of the version that sessions come from: 'sha256:' and 64 digits";
            self.report(&format!("{path}/from_hash"), "no snapshot hash", fix);
        }
        if let Some(policy) = members.get("unmappable").filter(|policy| !policy.as_str().is_some_and(|policy| UNMAPPABLE.contains(&policy)))
        {
            self.report(&format!("{path}/unmappable"), format!("unknown policy {policy}"), "use restart_intent, to_root or stay_pinned");
        }
        match members.get("nodes") {
            None => {}
            Some(Value::Object(nodes)) => nodes
                .iter()
                .for_each(|(old, new)| self.check_node(&format!("{path}/nodes/{}", old.replace('~', "~0").replace('/', "~1")), old, new)),
            Some(_) => self.report(&format!("{path}/nodes"), "expected an object of nodes", "write the old id and the new id of each node"),
        }
        match members.get("vars") {
            None => {}
            Some(Value::Array(changes)) => {
                changes.iter().enumerate().for_each(|(at, change)| self.check_change(&format!("{path}/vars/{at}"), change));
            }
            Some(_) => self.report(&format!("{path}/vars"), "expected a list of changes to variables", "write a list of objects"),
        }
    }

    /// Checks a renamed node: it must exist in the graph of the old one, or in any graph.
    fn check_node(&mut self, path: &str, old: &str, new: &Value) {
        let Some(new) = new.as_str() else {
            return self.report(path, "expected a string as the new id of a node", "write the id of a node");
        };
        let id = new.rsplit_once('/').map_or(new, |it| it.1);
        let graph = old.split_once('/').map(|it| it.0);
        let mut graphs = self.context.graphs.iter().filter(|graph_cx| graph.is_none_or(|graph| graph_cx.definition.id == graph));
        if !graphs.any(|graph_cx| graph_cx.node_index(id).is_some()) {
            let place = graph.map(|it| format!(" in the graph '{it}'")).unwrap_or_default();
            self.report(path, format!("unknown node '{id}'{place}"), "use the id of a node of this version");
        }
    }

    fn check_change(&mut self, path: &str, change: &Value) {
        let text = |name: &str| change.get(name).and_then(Value::as_str).is_some_and(|value| !value.is_empty());
        let forms = CHANGES.iter().filter(|(name, _)| change.get(name).is_some());
        let is_valid = forms.clone().count() == 1
            && forms.clone().all(|(name, other)| {
                text(name) && other.is_none_or(|member| if member == "to" { text(member) } else { change.get(member).is_some() })
            })
            && change
                .as_object()
                .is_some_and(|members| members.len() == forms.map(|(_, other)| 1 + usize::from(other.is_some())).sum::<usize>());
        if !is_valid {
            self.report(path, format!("invalid change to a variable: {change}"), "write {rename, to}, {default, value} or {drop}");
        }
    }
}
