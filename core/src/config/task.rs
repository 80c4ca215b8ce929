//! `ce_task`: tasks that are called around steps, container data and answers.

use super::issue::Issue;
use super::row::Row;
use super::scope::{ANY, Scopes, same_code, upper};
use super::tables::Tables;

/// Where a task is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskPlace {
    /// Around a step.
    Hook(HookMoment),
    /// On the parameters of a container's request.
    ContainerRequest,
    /// On the data of a container.
    ContainerResponse,
    /// On the data of a container, after all interceptors.
    ContainerTransformer,
    /// On the answer, after it was made.
    ResponseLlm,
    /// On the answer, after the turn.
    ResponseFinal,
}

/// The moment of a step at which a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookMoment {
    /// Before the step.
    Before,
    /// After the step.
    After,
    /// After the step has failed.
    Error,
}

impl HookMoment {
    /// The spelling in audits.
    pub fn name(self) -> &'static str {
        match self {
            HookMoment::Before => "beforeStep",
            HookMoment::After => "afterStep",
            HookMoment::Error => "onStepError",
        }
    }
}

/// A task with its place.
#[derive(Debug, Clone)]
pub struct PlacedTask {
    /// `bean:method`.
    pub name: String,
    place: TaskPlace,
    /// The step, of a hook.
    step: String,
    intent: String,
    state: String,
}

/// Placed tasks by priority.
#[derive(Debug, Clone, Default)]
pub struct PlacedTasks(Vec<PlacedTask>);

impl PlacedTasks {
    pub(super) fn compile(tables: &Tables, scopes: &Scopes, issues: &mut Vec<Issue>) -> PlacedTasks {
        let mut rows = scopes.rows(tables, "ce_task", issues);
        rows.sort_by_key(|it| (it.integer("priority").unwrap_or(i64::MAX), it.id()));
        let mut tasks = Vec::new();
        for row in rows {
            match compile(&row) {
                Ok(task) => tasks.push(task),
                Err(issue) => issues.push(issue),
            }
        }
        PlacedTasks(tasks)
    }

    /// Whether there is no task at all, so that nothing needs to be prepared.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The tasks of a place for an intent and a state.
    pub fn of<'r>(&'r self, place: TaskPlace, intent: &'r str, state: &'r str) -> impl Iterator<Item = &'r PlacedTask> {
        let fits = |code: &str, of_turn: &str| code == ANY || same_code(code, of_turn);
        self.0.iter().filter(move |it| it.place == place && fits(&it.intent, intent) && fits(&it.state, state))
    }

    /// The hooks of a step's moment.
    pub fn hooks<'r>(&'r self, step: &str, moment: HookMoment, intent: &'r str, state: &'r str) -> Vec<&'r PlacedTask> {
        let of_step = |it: &&PlacedTask| it.step == ANY || same_code(&it.step, step);
        self.of(TaskPlace::Hook(moment), intent, state).filter(of_step).collect()
    }
}

fn compile(row: &Row<'_>) -> Result<PlacedTask, Issue> {
    let name = row.code("task").unwrap_or_default();
    let parts = name.split_once(':').map(|(bean, method)| (bean.trim(), method.trim()));
    if !parts.is_some_and(|(bean, method)| !bean.is_empty() && !method.is_empty()) {
        return Err(row.error("task", format!("'{name}' is not bean:method"), "it names a bean and a method"));
    }
    let code = |column| row.code(column).map_or_else(|| ANY.to_owned(), |it| upper(&it));
    let place = place(&code("kind"), &code("stage"));
    let Some(place) = place else {
        let reason = format!("'{}' with stage '{}' is no place for a task", code("kind"), code("stage"));
        let hint = "the kind is HOOK (stage BEFORE, AFTER or ERROR), CONTAINER_REQUEST, CONTAINER_RESPONSE, CONTAINER_TRANSFORMER or \
                    RESPONSE_TRANSFORMER (stage LLM or FINAL)";
        return Err(row.error("kind", reason, hint));
    };
    Ok(PlacedTask { name, place, step: code("step"), intent: code("intent_code"), state: code("state_code") })
}

fn place(kind: &str, stage: &str) -> Option<TaskPlace> {
    match (kind, stage) {
        ("HOOK", "BEFORE") => Some(TaskPlace::Hook(HookMoment::Before)),
        ("HOOK", "AFTER") => Some(TaskPlace::Hook(HookMoment::After)),
        ("HOOK", "ERROR") => Some(TaskPlace::Hook(HookMoment::Error)),
        ("CONTAINER_REQUEST", _) => Some(TaskPlace::ContainerRequest),
        ("CONTAINER_RESPONSE", _) => Some(TaskPlace::ContainerResponse),
        ("CONTAINER_TRANSFORMER", _) => Some(TaskPlace::ContainerTransformer),
        // As in the original, a transformer without a stage works on what the model made.
        ("RESPONSE_TRANSFORMER", "LLM" | ANY) => Some(TaskPlace::ResponseLlm),
        ("RESPONSE_TRANSFORMER", "FINAL") => Some(TaskPlace::ResponseFinal),
        _ => None,
    }
}
