//! Tool executors and argument schemas, compiled from `ce_http_tool`, `ce_mcp_db_tool` and `cv_tool_spec`.

use std::collections::BTreeMap;
use std::sync::Arc;

use convengine_text::json::schema::JsonSchema;
use convengine_text::task::TaskName;
use convengine_text::template::Formula;
use convengine_turn::{EffectClass, MCP_GROUP, Map};
use serde_json::Value;

use super::mcp::{McpTool, McpTools};
use crate::column::{CREATED_AT, TableShape, flag, integer, json, text, word};
use crate::flow::document::Approval;
use crate::flow::shape::Keyword;
use crate::flow::shape::{Meaning, TextUse};
use crate::http_call::{HttpCall, HttpCallSource, METHODS};
use crate::issue::Issue;
use crate::row::TableRow;
use crate::settings::HttpPolicy;
use crate::tables::Tables;

pub(crate) static HTTP_TOOL: TableShape = TableShape {
    name: "ce_http_tool",
    help: "Requests of tools of the group `HTTP_API` and `NOTIFICATION`. See [task and tool calls](task-http.md).",
    columns: &[
        integer("tool_id", TOOL_ID),
        word("method", &METHODS, "").with_default(r#""GET""#),
        text("url_template", "address; only path and query may contain expressions")
            .with_meaning(Meaning::Template(TextUse::Url))
            .with_example(r#""https://api.example.org/orders/{{order_id}}""#),
        json("headers", "JSON object of templates").with_meaning(Meaning::Template(TextUse::Header)),
        json("query", "JSON object of templates, or `args` for all arguments").with_meaning(Meaning::Template(TextUse::Query)),
        json("body_template", "JSON object of templates, or `args`; without it POST, PUT and PATCH send all arguments")
            .with_meaning(Meaning::Template(TextUse::Body)),
        json(
            "auth_ref",
            "name of a secret (Bearer), or `{\"type\": \"API_KEY\" or \"BEARER_STATIC\", \"header\", \"prefix\", \"secret\"}`",
        )
        .with_meaning(Meaning::Secret),
        json("policy", "JSON: settings of `mcp.http-api.defaults` that differ"),
        json(
            "response_mapping",
            "`RAW_JSON`, `TEXT`, or `{\"mode\": \"JSON_PATH\", \"path\"}`, `{\"mode\": \"FIELD_TEMPLATE\", \"fields\"}`",
        ),
        flag("idempotent", "whether a call in doubt may be repeated; always for GET, HEAD, PUT and DELETE").with_default("false"),
    ],
};

pub(crate) static DB_TOOL: TableShape = TableShape {
    name: "ce_mcp_db_tool",
    help: "Queries of tools of the group `DB`.",
    columns: &[
        integer("tool_id", TOOL_ID),
        text("dialect", "not read; the database decides").with_default(r#""POSTGRES""#),
        text("sql_template", "one query: values as `:name`, identifiers as `${name}`"),
        json("param_schema", "JSON Schema of the arguments"),
        flag("safe_mode", "`true` allows only functions that are known to have no effect").with_default("true"),
        integer("max_rows", "maximum rows of a call; also caps the argument `limit`").with_default("200"),
        CREATED_AT,
        json("allowed_identifiers", "JSON object: identifier to the list of allowed strings; absent allows any")
            .with_example(r#"{"table": ["orders"]}"#),
    ],
};

pub(crate) static TOOL_SPEC: TableShape = TableShape {
    name: "cv_tool_spec",
    help: "Arguments of tools, and how tools of other groups are carried out.",
    columns: &[
        integer("tool_id", TOOL_ID),
        json("input_schema", "JSON Schema of the arguments; shown to planners and checked before a call"),
        json(
            "spec",
            "JSON: `{\"expression\"}`, `{\"task\"}`, `{\"collection\", \"limit\", \"query\"}` or `{\"root\", \"operation\"}`, by group; beside them, for \
             tools of every group, [`effect` and `approval`](../spec/tools.md#1.6)",
        ),
    ],
};

const TOOL_ID: &str = "the row of `ce_mcp_tool`";

/// Members of `spec` that say when a tool may be called; the rest says how it is carried out.
const EFFECT_MEMBER: &str = "effect";
const APPROVAL_MEMBER: &str = "approval";

/// Groups whose tools only read, also where nothing but the group is known of them.
const READING_GROUPS: [&str; 4] = ["DB", "DOCUMENT_RETRIEVAL", "FILES", "CALCULATOR_TRANSFORM"];

/// The default of `max_rows`.
const DEFAULT_MAX_ROWS: u32 = 200;

/// How a tool is executed.
#[derive(Debug, Clone)]
pub enum Executor {
    /// By the host, which identifies it by group and code.
    Host,
    /// By the host, configured by this `spec`.
    Spec(Arc<Value>),
    /// By an HTTP call.
    Http(Arc<HttpCall>),
    /// By a SQL query.
    Sql(Arc<SqlTemplate>),
    /// By formulas, each with the name of its result; a single formula has a blank name.
    Calculator(Arc<[(String, Formula)]>),
    /// By a task.
    Task(TaskName),
    /// By an MCP server.
    Mcp(Arc<McpTool>),
    /// Not at all: a row that configures the tool was skipped, for this reason.
    Unavailable(Arc<str>),
}

impl Executor {
    /// Whether a call may be repeated when its outcome is unknown.
    pub fn is_repeatable(&self) -> bool {
        match self {
            Executor::Http(call) => call.idempotent,
            Executor::Mcp(tool) => tool.is_idempotent,
            Executor::Sql(_) | Executor::Calculator(_) => true,
            Executor::Host | Executor::Spec(_) | Executor::Task(_) | Executor::Unavailable(_) => false,
        }
    }

    /// What a call does, when its row does not say. What is not known may change something.
    fn class(&self, group: &str) -> EffectClass {
        let only_reads = match self {
            Executor::Http(call) => return EffectClass::from_method(&call.method),
            Executor::Mcp(tool) => return tool.class,
            Executor::Sql(_) | Executor::Calculator(_) | Executor::Unavailable(_) => true,
            Executor::Host | Executor::Spec(_) => READING_GROUPS.contains(&group),
            Executor::Task(_) => false,
        };
        if only_reads { EffectClass::Read } else { EffectClass::Write }
    }
}

/// What a tool does and who agrees to its calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallTerms {
    pub class: EffectClass,
    pub approval: Option<Approval>,
}

/// A row of `ce_mcp_db_tool`.
#[derive(Debug, Clone)]
pub struct SqlTemplate {
    /// `sql_template`: the query, with values as `:name` and identifiers as `${name}`.
    pub sql: String,
    /// `max_rows`: the maximum rows of a result.
    pub max_rows: u32,
    /// `safe_mode`
    pub safe_mode: bool,
    /// `engine_tables` of the tool's `spec`: whether the query may read the engine's own tables.
    pub engine_tables: bool,
    /// `allowed_identifiers`: the allowed values of each identifier; `None` for any.
    pub identifiers: Option<BTreeMap<String, Vec<String>>>,
}

/// Executors and argument schemas by `tool_id`.
#[derive(Debug, Default)]
pub(super) struct ExecutorSet {
    http: BTreeMap<i64, Arc<HttpCall>>,
    sql: BTreeMap<i64, Arc<SqlTemplate>>,
    specs: BTreeMap<i64, Arc<Value>>,
    effects: BTreeMap<i64, EffectClass>,
    approvals: BTreeMap<i64, Approval>,
    mcp: McpTools,
    arguments: BTreeMap<i64, ArgumentsSchema>,
    /// Why a row was skipped. Its tool is not called at all, because its configuration is incomplete.
    skipped_rows: BTreeMap<i64, Arc<str>>,
}

/// The schema of the arguments of a tool.
#[derive(Debug, Clone)]
pub struct ArgumentsSchema {
    /// As written, for planner prompts.
    pub source: Arc<Value>,
    /// Compiled.
    pub schema: Arc<JsonSchema>,
}

impl ExecutorSet {
    /// Compiles the rows; `defaults` is the default policy of HTTP calls.
    pub fn compile(tables: &Tables, defaults: &HttpPolicy, issues: &mut Vec<Issue>) -> ExecutorSet {
        let mut set = ExecutorSet { mcp: McpTools::compile(tables, issues), ..ExecutorSet::default() };
        for row in tables.enabled_rows_of(&HTTP_TOOL) {
            match HttpCall::compile(&http_source(&row), defaults) {
                Ok(call) => drop(set.http.insert(row.id(), Arc::new(call))),
                Err((column, reason)) => set.skip_row(&row, column, &reason, "the column is corrected", issues),
            }
        }
        for row in tables.enabled_rows_of(&DB_TOOL) {
            set.add_query(&row, issues);
        }
        for row in tables.enabled_rows_of(&TOOL_SPEC) {
            set.add_spec(&row, issues);
        }
        set
    }

    /// Returns the executor of a tool.
    ///
    /// # Errors
    /// Why its `spec` does not match the group.
    pub fn executor(&self, id: i64, group: &str, code: &str) -> Result<Executor, String> {
        if let Some(reason) = self.skipped_rows.get(&id) {
            return Ok(Executor::Unavailable(Arc::clone(reason)));
        }
        if group == MCP_GROUP {
            return Ok(self.mcp.find(code).map_or_else(Executor::Unavailable, Executor::Mcp));
        }
        if let Some(call) = self.http.get(&id) {
            return Ok(Executor::Http(Arc::clone(call)));
        }
        if let Some(template) = self.sql.get(&id) {
            return Ok(Executor::Sql(Arc::clone(template)));
        }
        let Some(spec) = self.specs.get(&id) else { return Ok(Executor::Host) };
        match group {
            "CALCULATOR_TRANSFORM" => compile_calculator(spec),
            "WORKFLOW_ACTION" => compile_task(spec),
            _ => Ok(Executor::Spec(Arc::clone(spec))),
        }
    }

    /// Returns what a tool does, and who agrees to its calls. Of a tool of an MCP server, its own row says it.
    pub fn terms(&self, id: i64, group: &str, executor: &Executor) -> CallTerms {
        if let Executor::Mcp(tool) = executor {
            let approval = if tool.needs_approval { Approval::Always } else { Approval::Never };
            return CallTerms { class: tool.class, approval: Some(approval) };
        }
        let class = self.effects.get(&id).copied().unwrap_or_else(|| executor.class(group));
        CallTerms { class, approval: self.approvals.get(&id).copied() }
    }

    /// Returns the argument schema of a tool.
    pub fn arguments(&self, id: i64) -> Option<ArgumentsSchema> {
        self.arguments.get(&id).cloned()
    }

    fn add_query(&mut self, row: &TableRow<'_>, issues: &mut Vec<Issue>) {
        let Some(sql) = row.code("sql_template") else {
            return self.skip_row(row, "sql_template", "is blank", "it is a query", issues);
        };
        let identifiers = row.code("allowed_identifiers").map(|it| serde_json::from_str(&it));
        let Ok(identifiers) = identifiers.transpose() else {
            let hint = "it is an object of lists, such as {\"table\": [\"orders\"]}";
            return self.skip_row(row, "allowed_identifiers", "is not a JSON object of lists of strings", hint, issues);
        };
        let max_rows = row.integer("max_rows").and_then(|count| u32::try_from(count).ok()).filter(|it| *it > 0).unwrap_or(DEFAULT_MAX_ROWS);
        self.sql
            .insert(row.id(), Arc::new(SqlTemplate { sql, max_rows, safe_mode: row.flag("safe_mode"), engine_tables: false, identifiers }));
        if let Some(text) = row.code("param_schema")
            && let Err(reason) = self.add_arguments(row.id(), &text)
        {
            // The original never read the column, so it may contain anything.
            let hint = "arguments are not validated until the column is a JSON Schema of an object";
            issues.push(Issue::warning(row.path("param_schema"), reason, hint));
        }
    }

    fn add_spec(&mut self, row: &TableRow<'_>, issues: &mut Vec<Issue>) {
        if let Some(text) = row.code("input_schema")
            && let Err(reason) = self.add_arguments(row.id(), &text)
        {
            self.skip_row(row, "input_schema", &reason, "it is a JSON Schema of an object", issues);
        }
        match row.code("spec").map(|it| serde_json::from_str::<Map>(&it)) {
            Some(Ok(mut spec)) => {
                let has_terms = [EFFECT_MEMBER, APPROVAL_MEMBER].iter().any(|it| spec.contains_key(*it));
                self.take_terms(row, &mut spec, issues);
                if let Some(template) = self.sql.get_mut(&row.id()) {
                    Arc::make_mut(template).engine_tables = spec.get("engine_tables") == Some(&Value::Bool(true));
                }
                // A spec of these members alone says nothing about how the tool is carried out.
                if !spec.is_empty() || !has_terms {
                    self.specs.insert(row.id(), Arc::new(Value::Object(spec)));
                }
            }
            Some(Err(error)) => self.skip_row(row, "spec", &format!("is not a JSON object: {error}"), "it is a JSON object", issues),
            None => {}
        }
    }

    /// Takes `effect` and `approval` out of a spec. A tool with one that is not understood is not called.
    fn take_terms(&mut self, row: &TableRow<'_>, spec: &mut Map, issues: &mut Vec<Issue>) {
        if let Some(value) = spec.shift_remove(EFFECT_MEMBER) {
            let class = serde_json::from_value(value.clone()).ok().filter(|it| *it != EffectClass::Pure);
            match class {
                Some(class) => {
                    self.effects.insert(row.id(), class);
                }
                None => {
                    let reason = format!("has the effect {value}, which is neither read, write nor irreversible");
                    self.skip_row(row, "spec", &reason, "it is one of these", issues);
                }
            }
        }
        if let Some(value) = spec.shift_remove(APPROVAL_MEMBER) {
            match value.as_str().and_then(Approval::from_keyword) {
                Some(approval) => {
                    self.approvals.insert(row.id(), approval);
                }
                None => {
                    let reason = format!("has the approval {value}, which is neither always, write nor never");
                    self.skip_row(row, "spec", &reason, "it is one of these", issues);
                }
            }
        }
    }

    fn skip_row(&mut self, row: &TableRow<'_>, column: &str, reason: &str, until: &str, issues: &mut Vec<Issue>) {
        let issue = row.error(column, reason, until);
        self.skipped_rows.insert(row.id(), format!("{} {reason}", issue.path).into());
        issues.push(issue);
    }

    fn add_arguments(&mut self, id: i64, text: &str) -> Result<(), String> {
        let source: Value = serde_json::from_str(text).map_err(|it| format!("is not valid JSON: {it}"))?;
        let has_members = source.as_object().is_some_and(|it| !it.is_empty());
        if has_members {
            let schema = Arc::new(JsonSchema::compile(&source)?);
            self.arguments.insert(id, ArgumentsSchema { source: Arc::new(source), schema });
        }
        Ok(())
    }
}

fn http_source(row: &TableRow<'_>) -> HttpCallSource {
    HttpCallSource {
        method: row.code("method"),
        url: row.code("url_template"),
        headers: row.code("headers"),
        query: row.code("query"),
        body: row.code("body_template"),
        auth: row.code("auth_ref"),
        policy: row.code("policy"),
        mapping: row.code("response_mapping"),
        idempotent: row.code("idempotent").is_some_and(|_| row.flag("idempotent")),
    }
}

/// `{"expression": "…"}`, or `{"expression": {"name": "…"}}`.
fn compile_calculator(spec: &Value) -> Result<Executor, String> {
    let compile = |name: &str, source: &Value| {
        let source = source.as_str().ok_or_else(|| format!("the formula '{name}' is not a string"))?;
        Formula::compile(source).map(|formula| (name.to_owned(), formula)).map_err(|reason| format!("the formula '{source}' {reason}"))
    };
    let formulas = match spec.get("expression") {
        Some(Value::Object(named)) => named.iter().map(|(name, it)| compile(name, it)).collect::<Result<Vec<_>, _>>()?,
        Some(single) => vec![compile("", single)?],
        None => return Err("has no 'expression'; write {\"expression\": {\"result\": \"a * b\"}}".to_owned()),
    };
    Ok(Executor::Calculator(formulas.into()))
}

fn compile_task(spec: &Value) -> Result<Executor, String> {
    let name = spec.get("task").and_then(Value::as_str).and_then(TaskName::parse);
    name.map(Executor::Task).ok_or_else(|| "has no 'task'; write {\"task\": \"bean:method\"}".to_owned())
}
