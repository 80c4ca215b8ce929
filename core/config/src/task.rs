//! `ce_task`: tasks hooked into steps, container data and responses.

use std::collections::BTreeMap;

use super::code::{ANY, to_upper_code};
use super::column::{DESCRIPTION, ENABLED, INTENT_CODE, PRIORITY, STATE_CODE, TableShape, integer, json, text, word};
use super::issue::Issue;
use super::row::{TableRow, by_priority};
use super::scope::Scopes;
use super::scope_index::ScopeIndex;
use super::tables::Tables;

pub(crate) static TASK: TableShape = TableShape {
    name: "ce_task",
    help: "Who carries out a task, and where tasks are called. See [task and tool calls](task-http.md).",
    columns: &[
        integer("task_id", "id of the row"),
        word("kind", &["TASK", "HOOK", "CONTAINER_REQUEST", "CONTAINER_RESPONSE", "CONTAINER_TRANSFORMER", "RESPONSE_TRANSFORMER"], ""),
        text("task", "`bean:method`").with_example(r#""orders:refund""#),
        INTENT_CODE.with_default(r#""ANY""#),
        STATE_CODE.with_default(r#""ANY""#),
        text("step", "of a `HOOK`: the step, null for every step"),
        word(
            "stage",
            &["BEFORE", "AFTER", "ERROR", "LLM", "FINAL"],
            "of a `HOOK`: `BEFORE`, `AFTER`, `ERROR`; of a `RESPONSE_TRANSFORMER`: `LLM` (default) or `FINAL`",
        ),
        PRIORITY.with_help("order of the tasks of one place").with_default("100"),
        ENABLED,
        DESCRIPTION,
        json("binding", "JSON: who carries the task out").with_example(r#"{"extension": "fees"}"#),
    ],
};

/// The point at which a task is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookPoint {
    /// Before, after or on the failure of a step.
    Step(HookStage),
    /// On the parameters of a container request.
    ContainerRequest,
    /// On container data.
    ContainerResponse,
    /// On container data, after all CONTAINER_RESPONSE tasks.
    ContainerTransformer,
    /// On the response, right after it is produced.
    ResponseLlm,
    /// On the response, at the end of the turn.
    ResponseFinal,
}

impl HookPoint {
    /// The name in calls of extensions.
    pub fn name(self) -> &'static str {
        match self {
            HookPoint::Step(moment) => moment.name(),
            HookPoint::ContainerRequest => "container_request",
            HookPoint::ContainerResponse => "container_response",
            HookPoint::ContainerTransformer => "container",
            HookPoint::ResponseLlm => "llm",
            HookPoint::ResponseFinal => "final",
        }
    }
}

/// When a hook of a step runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookStage {
    /// Before the step.
    Before,
    /// After the step.
    After,
    /// After the step fails.
    Error,
}

impl HookStage {
    /// The name in audits.
    pub fn name(self) -> &'static str {
        match self {
            HookStage::Before => "beforeStep",
            HookStage::After => "afterStep",
            HookStage::Error => "onStepError",
        }
    }
}

/// A task bound to a hook point.
#[derive(Debug, Clone)]
pub struct HookTask {
    /// `bean:method`.
    pub name: String,
}

/// Hook tasks by point, step and scope.
#[derive(Debug, Clone, Default)]
pub struct HookTasks {
    /// By priority.
    tasks: Vec<HookTask>,
    positions: BTreeMap<(HookPoint, String), ScopeIndex<usize>>,
}

impl HookTasks {
    pub(super) fn compile(tables: &Tables, scopes: &Scopes, issues: &mut Vec<Issue>) -> HookTasks {
        let rows = by_priority(scopes.rows(tables, &TASK, issues));
        let mut placed = HookTasks::default();
        // A row of kind TASK has no hook point: it only sets the binding of the task.
        for row in rows.iter().filter(|row| row.code("kind").is_none_or(|kind| !kind.eq_ignore_ascii_case("TASK"))) {
            match compile(row) {
                Ok((place, step, task)) => {
                    placed.positions.entry((place, step)).or_default().add(row, placed.tasks.len());
                    placed.tasks.push(task);
                }
                Err(issue) => issues.push(issue),
            }
        }
        placed
    }

    /// Whether there is no task at all, so that callers can skip their preparations.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Returns the tasks of a point for an intent and a state, by priority.
    pub fn at_point(&self, place: HookPoint, intent: &str, state: &str) -> Vec<&HookTask> {
        self.find(&[ANY], place, intent, state)
    }

    /// Whether any task is attached to what happens with an intent in a state.
    pub fn has_any(&self, intent: &str, state: &str) -> bool {
        self.positions.values().any(|tasks| tasks.applicable(intent, state).next().is_some())
    }

    /// Returns the hooks of a step, by priority.
    pub fn at_step(&self, step: &str, moment: HookStage, intent: &str, state: &str) -> Vec<&HookTask> {
        self.find(&[&to_upper_code(step), ANY], HookPoint::Step(moment), intent, state)
    }

    fn find(&self, steps: &[&str], place: HookPoint, intent: &str, state: &str) -> Vec<&HookTask> {
        let of_step = |step: &&str| self.positions.get(&(place, (*step).to_owned()));
        let mut positions: Vec<usize> = steps.iter().filter_map(of_step).flat_map(|it| it.applicable(intent, state)).copied().collect();
        positions.sort_unstable();
        positions.into_iter().filter_map(|it| self.tasks.get(it)).collect()
    }
}

fn compile(row: &TableRow<'_>) -> Result<(HookPoint, String, HookTask), Issue> {
    let name = row.code("task").unwrap_or_default();
    let parts = name.split_once(':').map(|(bean, method)| (bean.trim(), method.trim()));
    if !parts.is_some_and(|(bean, method)| !bean.is_empty() && !method.is_empty()) {
        return Err(row.error("task", format!("'{name}' is not bean:method"), "it names a bean and a method"));
    }
    let place = parse_point(&row.code_or_any("kind"), &row.code_or_any("stage"));
    let Some(place) = place else {
        let reason = format!("'{}' with stage '{}' is not a hook point", row.code_or_any("kind"), row.code_or_any("stage"));
        let hint = "the kind is TASK, HOOK (stage BEFORE, AFTER or ERROR), CONTAINER_REQUEST, CONTAINER_RESPONSE, CONTAINER_TRANSFORMER or \
                    RESPONSE_TRANSFORMER (stage LLM or FINAL)";
        return Err(row.error("kind", reason, hint));
    };
    // Only hooks have a step.
    let step = if matches!(place, HookPoint::Step(_)) { row.code_or_any("step") } else { ANY.to_owned() };
    Ok((place, step, HookTask { name }))
}

fn parse_point(kind: &str, stage: &str) -> Option<HookPoint> {
    match (kind, stage) {
        ("HOOK", "BEFORE") => Some(HookPoint::Step(HookStage::Before)),
        ("HOOK", "AFTER") => Some(HookPoint::Step(HookStage::After)),
        ("HOOK", "ERROR") => Some(HookPoint::Step(HookStage::Error)),
        ("CONTAINER_REQUEST", _) => Some(HookPoint::ContainerRequest),
        ("CONTAINER_RESPONSE", _) => Some(HookPoint::ContainerResponse),
        ("CONTAINER_TRANSFORMER", _) => Some(HookPoint::ContainerTransformer),
        // As in the original, a transformer without a stage runs on the output of the model.
        ("RESPONSE_TRANSFORMER", "LLM" | ANY) => Some(HookPoint::ResponseLlm),
        ("RESPONSE_TRANSFORMER", "FINAL") => Some(HookPoint::ResponseFinal),
        _ => None,
    }
}
