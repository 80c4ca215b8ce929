//! Variables that are read and never written, and answers that are written and never read. (E002, E004, T003, V012)

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::ground::{Chart, Ground, Place};
use super::spot::{Kind, Spot};
use super::variables::{outputs, variable};
use crate::config::flow::DocumentIssue;
use crate::config::flow::document::{CallMode, NodeKind};
use crate::text::path::Path;

/// Roots that only some places have.
const ELSEWHERE: [&str; 6] = ["args", "item", "index", "value", "trigger", "steps"];

/// What can be read of the system.
const SYSTEM: [&str; 7] = ["now", "locale", "channel", "session_id", "turn", "assistant", "version"];

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<DocumentIssue>) {
    if !ground.writes.unknown {
        for spot in &ground.spots {
            let place = Place { path: spot.path.clone(), name: spot.name.clone(), ..Place::default() };
            found.extend(spot.reads().iter().filter_map(|path| never(ground, spot, path, &place)));
        }
        let root = ground.number(&ground.flow.document.root).filter(|it| entered_once(ground, *it));
        for (number, chart) in ground.charts.iter().enumerate() {
            let mut first_run = FirstRun { chart, number, known: BTreeMap::new() };
            for (at, spots) in chart.spots.iter().enumerate() {
                for spot in spots {
                    let place = Place { path: spot.path.clone(), ..chart.place_of(at) };
                    for path in &spot.reads() {
                        let later = || (root == Some(number)).then(|| first_run.too_late(ground, at, spot, path, &place)).flatten();
                        found.extend(never(ground, spot, path, &place).or_else(later));
                    }
                }
            }
        }
    }
    unread(ground, found);
}

/// A variable that nothing in the document writes.
fn never(ground: &Ground<'_>, spot: &Spot<'_>, path: &Path, place: &Place) -> Option<DocumentIssue> {
    let place = place.clone();
    if path.first() == "system" && path.rest().is_some_and(|it| !SYSTEM.contains(&it.first())) {
        return Some(issue(spot, place, format!("'{path}' is never defined")).fix(format!("take one of {}", SYSTEM.join(", "))));
    }
    let name = variable(path, spot.here).filter(|it| it.first() != "secret")?;
    if ground.writes.of_variable(&name).next().is_some() {
        return None;
    }
    if ELSEWHERE.contains(&path.first()) && path.parts().len() > 1 && matches!(spot.kind, Kind::Condition | Kind::Formula) {
        let message = format!("'{}' cannot be named here, and no variable is called so", path.first());
        return Some(place.error("E002", message).fix("name a variable, or something of 'event', 'system' or 'user'"));
    }
    Some(issue(spot, place, format!("'{name}' is read, and nothing writes it")).fix("write it before, or correct its name"))
}

fn issue(spot: &Spot<'_>, place: Place, message: String) -> DocumentIssue {
    place.warning(if matches!(spot.kind, Kind::Condition | Kind::Formula) { "E004" } else { "T003" }, message)
}

/// Whether nothing but the beginning of a session enters a graph.
fn entered_once(ground: &Ground<'_>, root: usize) -> bool {
    let Some(id) = ground.charts.get(root).map(|it| &it.form.id) else { return false };
    let document = &ground.flow.document;
    let events = [&document.events.welcome.graph, &document.events.fallback.graph, &document.events.no_input.graph];
    let limit = &document.settings.fallback_limit_graph;
    let called = ground.nodes().any(|it| matches!(&it.2.kind, NodeKind::Subflow(data) if data.graph == *id));
    !called && !events.contains(&&Some(id.clone())) && limit.as_ref() != Some(id) && document.intents.iter().all(|it| it.graph != *id)
}

/// The first and only run of the root. Other graphs run as often as users like and in any order, so that whatever one of them writes
/// may be there from the beginning.
struct FirstRun<'r, 'g> {
    chart: &'r Chart<'g>,
    number: usize,
    /// For the variables that are asked for, where their value may be known.
    known: BTreeMap<Path, Vec<bool>>,
}

impl FirstRun<'_, '_> {
    /// A variable that is written only behind the place where it is read.
    fn too_late(&mut self, ground: &Ground<'_>, at: usize, spot: &Spot<'_>, path: &Path, place: &Place) -> Option<DocumentIssue> {
        let name = variable(path, spot.here)?;
        let writes: Option<Vec<usize>> =
            ground.writes.of_variable(&name).map(|it| it.node.filter(|_| it.graph == Some(self.number))).collect();
        let writes = writes?;
        let fallbacks = self.chart.form.nodes.iter().enumerate().filter(|it| matches!(it.1.kind, NodeKind::Fallback(_))).map(|it| it.0);
        let begin = writes.into_iter().chain(fallbacks);
        let known = self.known.entry(name.clone()).or_insert_with(|| self.chart.from(begin));
        if known.get(at).copied().unwrap_or(true) || !self.chart.is_reached(at) {
            return None;
        }
        let message = format!("'{name}' is read before anything has written it");
        Some(issue(spot, place.clone(), message).fix("write it before, or give it a default"))
    }
}

/// What is taken out of answers and then left alone.
fn unread(ground: &Ground<'_>, found: &mut Vec<DocumentIssue>) {
    let scripts = ground.charts.iter().flat_map(|it| &it.sources).filter(|it| it.get("type").and_then(Value::as_str) == Some("python"));
    // A script may read whatever there is.
    if scripts.into_iter().any(|it| it.pointer("/data/inputs").is_none()) {
        return;
    }
    let mut reads: BTreeMap<String, BTreeSet<Path>> = BTreeMap::new();
    for (_, spot) in ground.texts() {
        for path in spot.reads() {
            if path.first() == "session" && path.parts().len() == 1 {
                return;
            }
            reads.extend_with(variable(&path, spot.here));
        }
    }
    for chart in &ground.charts {
        chart.form.returns.iter().for_each(|it| reads.extend_with(Some(it.name.clone())));
    }
    for (_, _, node) in ground.nodes() {
        match &node.kind {
            // What is there already is not asked for.
            NodeKind::Entity(data) => reads.extend_with(Some(data.variable.clone())),
            NodeKind::Set(data) => data.assign.iter().for_each(|it| reads.extend_with(Some(it.variable.clone()))),
            NodeKind::Subflow(data) if data.mode == CallMode::Call => {}
            NodeKind::Start(_)
            | NodeKind::End(_)
            | NodeKind::Intent(_)
            | NodeKind::Message(_)
            | NodeKind::Decision
            | NodeKind::Router
            | NodeKind::Service(_)
            | NodeKind::Fallback(_)
            | NodeKind::Subflow(_)
            | NodeKind::InstructionAgent(_)
            | NodeKind::Unavailable => {}
        }
    }
    let is_read = |path: &Path| reads.get(path.first()).is_some_and(|all| all.iter().any(|it| it.within(path) || path.within(it)));
    let message = |path: &Path| format!("'{path}' is taken out of the answer, and nothing reads it");
    let fix = "remove the output, or correct its name";
    for (at, tool) in ground.flow.document.tools.iter().enumerate() {
        for (number, output) in tool.outputs.iter().enumerate().filter(|it| !is_read(&it.1.variable)) {
            let place = ground.listed("tools", at).at(&format!("/outputs/{number}/variable"));
            found.push(place.warning("V012", message(&output.variable)).fix(fix));
        }
    }
    for (chart, at, node) in ground.nodes() {
        let NodeKind::Service(data) = &node.kind else { continue };
        for (number, output) in outputs(None, &data.outputs).enumerate().filter(|it| !is_read(&it.1.variable)) {
            let place = chart.place_of(at).at(&format!("/data/outputs/{number}/variable"));
            found.push(place.warning("V012", message(&output.variable)).fix(fix));
        }
    }
}

trait Paths {
    fn extend_with(&mut self, path: Option<Path>);
}

impl Paths for BTreeMap<String, BTreeSet<Path>> {
    fn extend_with(&mut self, path: Option<Path>) {
        if let Some(path) = path {
            self.entry(path.first().to_owned()).or_default().insert(path);
        }
    }
}
