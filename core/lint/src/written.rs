//! The names that something writes into parameters and context, as far as rows and known replies of tasks tell.

use std::collections::{BTreeMap, BTreeSet};

use convengine_config::{RuleAction, TableRow, Tool};
use convengine_text::task::TaskName;
use convengine_text::template::{Formula, Template};
use serde_json::Value;

use super::paths::{paths_of, split_words};

/// Parameters and context members that name a task: it is called, whatever it writes.
const TASK_NAMES: [&str; 3] = ["pending_action", "pendingAction", "pending_action_task"];

/// The group of tools that call a task.
const TASK_TOOLS: &str = "WORKFLOW_ACTION";

/// The roots of templates that read parameters.
pub(super) const PARAM_ROOTS: [&str; 4] = ["inputParams", "safeInputParams", "rawInputParams", "promptVars"];

/// The members of an object that something writes, each with its own members. A value of which nothing is known has none.
#[derive(Debug, Default)]
pub(super) struct Members(BTreeMap<String, Members>);

/// Rows by table.
type Rows<'t> = BTreeMap<&'static str, Vec<TableRow<'t>>>;

/// What is written to a session.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// The parameters.
    pub params: Members,
    /// The members of the context.
    pub context: Members,
    /// Parameters that a row copies to another name: clients send them.
    pub sources: BTreeSet<String>,
    /// Whether a task, a tool or an extension may write other names.
    pub is_open: bool,
}

impl Members {
    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The members of one of them.
    pub fn member(&self, name: &str) -> Option<&Members> {
        self.0.get(name)
    }

    fn insert(&mut self, name: &str) -> &mut Members {
        self.0.entry(name.to_owned()).or_default()
    }

    fn insert_value(&mut self, value: &Value) {
        for (name, member) in value.as_object().into_iter().flatten() {
            self.insert(name).insert_value(member);
        }
    }

    fn insert_schema(&mut self, schema: &Value) {
        let properties = schema.get("properties").or(Some(schema)).and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            let members = self.insert(name);
            if property.get("properties").is_some() {
                members.insert_schema(property);
            }
        }
    }
}

impl Written {
    /// Collects what rows, actions of rules and replies of tasks write.
    pub fn new(rows: &Rows<'_>, actions: &[&RuleAction], tools: &[Tool], replies: &[Value]) -> Written {
        let mut written = Written::default();
        for schema in rows_of(rows, "ce_output_schema").iter().filter_map(|row| row.text("json_schema")) {
            match serde_json::from_str(&schema) {
                Ok(schema) => written.context.insert_schema(&schema),
                Err(_) => {
                    for name in split_words(&schema) {
                        written.context.insert(&name);
                    }
                }
            }
        }
        for name in rows_of(rows, "ce_container_config").iter().filter_map(|row| row.code("input_param_name")) {
            written.context.insert("container_data").insert(&name);
            written.params.insert(&name);
        }
        for action in actions {
            written.add_action(action);
        }
        let scripts: Vec<(String, Value)> = rows_of(rows, "ce_task").iter().filter_map(read_script).collect();
        replies.iter().chain(scripts.iter().map(|it| &it.1)).for_each(|reply| written.add_reply(reply));
        for (_, script) in &scripts {
            written.add_sources(read_names(script).iter().map(String::as_str));
        }
        let scripted: BTreeSet<&str> = scripts.iter().filter(|it| is_known(&it.1)).map(|it| it.0.as_str()).collect();
        let names_task = TASK_NAMES.iter().any(|name| [&written.params, &written.context].iter().any(|it| it.member(name).is_some()));
        written.is_open = names_task
            || !rows_of(rows, "cv_extension").is_empty()
            || tools.iter().any(|tool| tool.group == TASK_TOOLS)
            || called_tasks(rows, actions).iter().any(|task| !scripted.contains(task.as_str()));
        written
    }

    fn add_action(&mut self, action: &RuleAction) {
        for (key, value) in action.set_params() {
            let written = self.params.insert(key);
            if let Some(value) = value {
                written.insert_value(value);
            }
        }
        if let Some(source) = action.source_path() {
            self.add_sources(paths_of(source).iter().map(String::as_str));
        }
    }

    fn add_reply(&mut self, reply: &Value) {
        for (member, written) in [("set_params", &mut self.params), ("set_context", &mut self.context)] {
            if let Some(values) = reply.get(member) {
                written.insert_value(values);
            }
        }
    }

    /// Adds the parameters among the paths that a row reads in order to write what it finds.
    fn add_sources<'p>(&mut self, paths: impl Iterator<Item = &'p str>) {
        let param = |path: &'p str| {
            let (root, rest) = path.split_once('.')?;
            PARAM_ROOTS.contains(&root).then(|| rest.split('.').next().unwrap_or(rest).to_owned())
        };
        self.sources.extend(paths.filter_map(param));
    }
}

/// Returns the names that the templates and formulas in a value read.
pub(super) fn read_names(value: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    collect_names(value, &mut names);
    names
}

fn collect_names(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => match text.strip_prefix('=').map(|formula| Formula::compile(formula.trim())) {
            Some(Ok(formula)) => names.extend(formula.names()),
            Some(Err(_)) | None => {
                if let Ok(template) = Template::compile(text) {
                    names.extend(template.names().map(str::to_owned));
                }
            }
        },
        Value::Array(items) => items.iter().for_each(|item| collect_names(item, names)),
        Value::Object(members) => members.values().for_each(|member| collect_names(member, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The name of the task and the script that a row of `ce_task` binds to it.
fn read_script(row: &TableRow<'_>) -> Option<(String, Value)> {
    let binding: Value = serde_json::from_str(&row.text("binding")?).ok()?;
    Some((row.code("task")?, binding.get("script")?.clone()))
}

/// Whether the script says all names that it sets: a formula in place of an object may set any.
fn is_known(script: &Value) -> bool {
    ["set_params", "set_context"].iter().all(|member| script.get(member).is_none_or(|it| it.is_null() || it.is_object()))
}

/// The tasks that rows call or name.
fn called_tasks(rows: &Rows<'_>, actions: &[&RuleAction]) -> BTreeSet<String> {
    let of_rules = actions.iter().filter_map(|action| action.task().cloned());
    let of_actions = rows_of(rows, "ce_pending_action").iter().filter_map(|row| {
        let (bean, methods) = (row.code("bean_name")?, row.code("method_names")?);
        TaskName::parse(&format!("{bean}:{methods}"))
    });
    let methods = |task: TaskName| task.methods.into_iter().map(move |method| format!("{}:{method}", task.bean)).collect::<Vec<_>>();
    let hooked = rows_of(rows, "ce_task").iter().filter_map(|row| row.code("task"));
    of_rules.chain(of_actions).flat_map(methods).chain(hooked).collect()
}

fn rows_of<'r, 't>(rows: &'r Rows<'t>, table: &str) -> &'r [TableRow<'t>] {
    rows.get(table).map(Vec::as_slice).unwrap_or_default()
}
