//! `ce_state_graph` and `flow.state-graph.allowed-transitions`: the allowed state transitions. (docs/decisions/0007-state-graph.md)

use std::collections::{BTreeMap, BTreeSet};

use super::code::{ANY, is_same_code, to_upper_code};
use super::column::{DESCRIPTION, ENABLED, INTENT_CODE, STATE_CODE, TableShape, integer};
use super::intent_resolver::enabled_intents;
use super::issue::Issue;
use super::row::TableRow;
use super::tables::Tables;

pub(crate) static STATE_GRAPH: TableShape = TableShape {
    name: "ce_state_graph",
    help: "Allowed changes of the state. Without an edge for the intent or `ANY` every change is allowed.",
    columns: &[
        integer("graph_id", "id of the row"),
        INTENT_CODE,
        STATE_CODE.with_name("from_state").with_help("state before, or `ANY`"),
        STATE_CODE.with_name("to_state").with_help("state after, or `ANY`"),
        ENABLED,
        DESCRIPTION,
    ],
};

/// Target states by source state, in upper case.
type Edges = BTreeMap<String, BTreeSet<String>>;

/// Allowed transitions by intent; those of the settings and of rows without an intent apply to every intent.
#[derive(Debug, Clone, Default)]
pub struct StateEdges(BTreeMap<String, Edges>);

impl StateEdges {
    pub(super) fn compile(tables: &Tables, settings: &BTreeMap<String, Vec<String>>, issues: &mut Vec<Issue>) -> StateEdges {
        let mut edges = StateEdges::default();
        for (from, states) in settings {
            // A final state has no successor; it is listed all the same.
            edges
                .0
                .entry(ANY.to_owned())
                .or_default()
                .entry(to_upper_code(from))
                .or_default()
                .extend(states.iter().map(|it| to_upper_code(it)));
        }
        let intents = enabled_intents(tables);
        for row in tables.enabled_rows_of(&STATE_GRAPH) {
            match parse_edge(&row) {
                Ok((intent, from, to)) => {
                    if !is_same_code(&intent, ANY) && !intents.contains(&intent) {
                        let reason = format!("'{intent}' is not an enabled intent");
                        issues.push(Issue::warning(row.path("intent_code"), reason, "enable it in ce_intent or correct the code"));
                    }
                    edges.0.entry(intent).or_default().entry(from).or_default().insert(to);
                }
                Err(issue) => issues.push(issue),
            }
        }
        edges
    }

    /// Returns the states that may follow a state.
    pub fn successors(&self, intent: &str, from: &str) -> Vec<&str> {
        let edges = [to_upper_code(intent).as_str(), ANY].map(|it| self.0.get(it)).into_iter().flatten();
        let states = edges.flat_map(|edges| [edges.get(&to_upper_code(from)), edges.get(ANY)]).flatten().flatten();
        states.map(String::as_str).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Whether a transition is allowed; any is when the intent has no edge at all.
    pub fn is_allowed(&self, intent: &str, from: &str, to: &str) -> bool {
        let own = self.0.get(&to_upper_code(intent));
        let general = self.0.get(ANY);
        let (from, to) = (to_upper_code(from), to_upper_code(to));
        let leads = |edges: &Edges| {
            [from.as_str(), ANY]
                .iter()
                .filter_map(|state| edges.get(*state))
                .any(|successors| successors.contains(&to) || successors.contains(ANY))
        };
        (own.is_none() && general.is_none()) || own.into_iter().chain(general).any(leads)
    }
}

fn parse_edge(row: &TableRow<'_>) -> Result<(String, String, String), Issue> {
    let state = |column: &str| row.required(column, "it names a state").map(|code| to_upper_code(&code));
    let intent = row.code_or_any("intent_code");
    Ok((intent, state("from_state")?, state("to_state")?))
}
