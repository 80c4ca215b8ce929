//! `ce_task`: tasks hooked into steps, container data and responses.

use std::collections::BTreeMap;

use super::by_scope::ByScope;
use super::issue::Issue;
use super::row::{Row, by_priority};
use super::scope::{ANY, Scopes, upper};
use super::tables::Tables;

/// The point at which a task is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskPlace {
    /// Before, after or on the failure of a step.
    Hook(HookMoment),
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

impl TaskPlace {
    /// The name in calls of extensions.
    pub fn name(self) -> &'static str {
        match self {
            TaskPlace::Hook(moment) => moment.name(),
            TaskPlace::ContainerRequest => "container_request",
            TaskPlace::ContainerResponse => "container_response",
            TaskPlace::ContainerTransformer => "container",
            TaskPlace::ResponseLlm => "llm",
            TaskPlace::ResponseFinal => "final",
        }
    }
}

/// When a hook of a step runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookMoment {
    /// Before the step.
    Before,
    /// After the step.
    After,
    /// After the step fails.
    Error,
}

impl HookMoment {
    /// The name in audits.
    pub fn name(self) -> &'static str {
        match self {
            HookMoment::Before => "beforeStep",
            HookMoment::After => "afterStep",
            HookMoment::Error => "onStepError",
        }
    }
}

/// A task bound to a hook point.
#[derive(Debug, Clone)]
pub struct PlacedTask {
    /// `bean:method`.
    pub name: String,
}

/// Hook tasks by point, step and scope.
#[derive(Debug, Clone, Default)]
pub struct PlacedTasks {
    /// By priority.
    tasks: Vec<PlacedTask>,
    positions: BTreeMap<(TaskPlace, String), ByScope<usize>>,
}

impl PlacedTasks {
    pub(super) fn compile(tables: &Tables, scopes: &Scopes, issues: &mut Vec<Issue>) -> PlacedTasks {
        let rows = by_priority(scopes.rows(tables, "ce_task", issues));
        let mut placed = PlacedTasks::default();
        // A row of kind TASK has no hook point: it only sets the binding of the task.
        for row in rows.iter().filter(|it| it.code("kind").is_none_or(|it| !it.eq_ignore_ascii_case("TASK"))) {
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
    pub fn of(&self, place: TaskPlace, intent: &str, state: &str) -> Vec<&PlacedTask> {
        self.of_steps(&[ANY], place, intent, state)
    }

    /// Returns the hooks of a step, by priority.
    pub fn hooks(&self, step: &str, moment: HookMoment, intent: &str, state: &str) -> Vec<&PlacedTask> {
        self.of_steps(&[&upper(step), ANY], TaskPlace::Hook(moment), intent, state)
    }

    fn of_steps(&self, steps: &[&str], place: TaskPlace, intent: &str, state: &str) -> Vec<&PlacedTask> {
        let of_step = |step: &&str| self.positions.get(&(place, (*step).to_owned()));
        let mut positions: Vec<usize> = steps.iter().filter_map(of_step).flat_map(|it| it.fitting(intent, state)).copied().collect();
        positions.sort_unstable();
        positions.into_iter().filter_map(|it| self.tasks.get(it)).collect()
    }
}

fn compile(row: &Row<'_>) -> Result<(TaskPlace, String, PlacedTask), Issue> {
    let name = row.code("task").unwrap_or_default();
    let parts = name.split_once(':').map(|(bean, method)| (bean.trim(), method.trim()));
    if !parts.is_some_and(|(bean, method)| !bean.is_empty() && !method.is_empty()) {
        return Err(row.error("task", format!("'{name}' is not bean:method"), "it names a bean and a method"));
    }
    let place = place(&row.code_or_any("kind"), &row.code_or_any("stage"));
    let Some(place) = place else {
        let reason = format!("'{}' with stage '{}' is not a hook point", row.code_or_any("kind"), row.code_or_any("stage"));
        let hint = "the kind is TASK, HOOK (stage BEFORE, AFTER or ERROR), CONTAINER_REQUEST, CONTAINER_RESPONSE, CONTAINER_TRANSFORMER or \
                    RESPONSE_TRANSFORMER (stage LLM or FINAL)";
        return Err(row.error("kind", reason, hint));
    };
    // Only hooks have a step.
    let step = if matches!(place, TaskPlace::Hook(_)) { row.code_or_any("step") } else { ANY.to_owned() };
    Ok((place, step, PlacedTask { name }))
}

fn place(kind: &str, stage: &str) -> Option<TaskPlace> {
    match (kind, stage) {
        ("HOOK", "BEFORE") => Some(TaskPlace::Hook(HookMoment::Before)),
        ("HOOK", "AFTER") => Some(TaskPlace::Hook(HookMoment::After)),
        ("HOOK", "ERROR") => Some(TaskPlace::Hook(HookMoment::Error)),
        ("CONTAINER_REQUEST", _) => Some(TaskPlace::ContainerRequest),
        ("CONTAINER_RESPONSE", _) => Some(TaskPlace::ContainerResponse),
        ("CONTAINER_TRANSFORMER", _) => Some(TaskPlace::ContainerTransformer),
        // As in the original, a transformer without a stage runs on the output of the model.
        ("RESPONSE_TRANSFORMER", "LLM" | ANY) => Some(TaskPlace::ResponseLlm),
        ("RESPONSE_TRANSFORMER", "FINAL") => Some(TaskPlace::ResponseFinal),
        _ => None,
    }
}
