//! Configuration: control tables and settings compiled to an immutable snapshot with a content hash.
//!
//! Compiling never fails. A row that cannot be compiled is skipped and becomes an [`Issue`]; only an invalid policy row stops
//! turns, because skipping it would let through what it blocks. (docs/decisions/0009-invalid-configuration-rows.md)
//!
//! ```
//! use convengine_config::{Config, Tables};
//! use serde_json::json;
//!
//! let tables: Tables = serde_json::from_value(json!({
//!     "ce_intent": [{"intent_code": "HOURS"}],
//!     "ce_intent_classifier": [
//!         {"classifier_id": 1, "intent_code": "HOURS", "state_code": "ANY", "rule_type": "REGEX", "pattern": "\\bopen\\b"},
//!         {"classifier_id": 2, "intent_code": "HOURS", "state_code": "ANY", "rule_type": "REGEX", "pattern": "(hours"},
//!     ],
//! }))?;
//! let (config, issues) = Config::compile(&tables, &json!({"flow": {"dialogueAct": {"resolute": "REGEX_ONLY"}}}));
//! assert_eq!(issues.len(), 1);
//! assert_eq!(issues[0].path, "ce_intent_classifier[2].pattern");
//! assert!(issues[0].is_error(), "the row is skipped, the other one works");
//! assert_eq!(config.hash_source().len(), 64);
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! A document, in place of tables, is in [`flow`]; [`Config::from_flow`] compiles it. What a configuration says is checked further by lint,
//! in `convengine-lint`.
//!
//! No modules use one another in a circle. From the bottom: codes and other plain values; [`flow`] with the documents; `column`, `row` and
//! `tables`, which hold rows as stored; [`settings`]; a module for each table, which declares its columns and compiles its rows;
//! `catalog` and `canonical`, which know all tables; [`Config`].

mod args_template;
mod binding;
mod built_in;
mod canonical;
mod catalog;
mod classifier;
mod code;
mod column;
mod container;
mod dialogue_act;
mod dialogue_acts;
mod disambiguation;
mod extension;
pub mod flow;
mod guardrail;
mod http_call;
mod intent_resolver;
mod issue;
mod matcher;
mod matcher_set;
mod mcp_code;
mod memory;
mod parts;
mod pending_action;
mod phase;
mod planner;
mod policy;
mod profile;
mod prompt;
mod recency;
mod response;
mod row;
mod rule;
mod schema;
mod scope;
mod scope_index;
mod script;
pub mod settings;
mod source;
mod sql_repair;
mod state_graph;
mod step;
mod tables;
mod task;
mod tool;
mod tool_request;
mod trainable;
mod verbose;

pub use args_template::ArgsTemplate;
pub use binding::{Binding, Bindings};
pub use built_in::PromptPair;
pub use catalog::{OTHER_TABLES, TABLES, table_shape};
pub use classifier::{Classifier, Classifiers, Example};
pub use code::{ANY, UNKNOWN, is_same_code};
pub use code::{enclosing_scopes, to_upper_code};
pub use column::TableShape;
pub use container::{Container, Containers};
pub use dialogue_act::DialogueAct;
pub use dialogue_acts::{DialogueActPrompts, DialogueActs};
pub use disambiguation::DisambiguationQuestion;
pub use extension::{Extension, Extensions};
pub use guardrail::{Indeterminate, SensitivePatterns};
pub use http_call::{HttpCall, ResponseMapping, ValueSource};
pub use intent_resolver::{AllowedIntent, IntentResolverConfig};
pub use issue::{Issue, Severity};
pub use matcher::TextMatcher;
pub use mcp_code::{join_mcp_code, split_mcp_code};
use parts::{EarlierConfig, PartCache, Parts};
pub use parts::{Part, Reuse};
pub use pending_action::{PendingAction, PendingActions};
pub use phase::Phase;
pub use planner::{Planner, Planners};
pub use policy::{Policies, Policy};
pub use profile::{Arbitration, Profile, V1, V2};
pub use prompt::{InteractionTerms, PromptTemplate, PromptTemplates, SCHEMA_JSON};
pub use response::{OutputFormat, Response, ResponseSource, Responses};
pub use row::{TableRow, by_priority};
pub use rule::{Rule, RuleAction, RuleCondition, Rules, SetDialogueAct};
pub use schema::{OutputSchema, SchemaField, Schemas, ValueKind, ValueSchema};
use scope::Scopes;
pub use script::{MEMBERS as TASK_MEMBERS, Script};
pub use settings::{DialogueActMode, InteractionDecision, Settings};
use source::ConfigSource;
pub use state_graph::StateEdges;
pub use step::{PUBLISHERS, Step};
pub use tables::Tables;
pub use task::{HookPoint, HookStage, HookTask, HookTasks};
pub use tool::{
    ArgumentsSchema, Executor, McpTool, SqlTemplate, Tool, Tools, canonical_tool_group, classify_mcp_tool, mcp_spec, read_tools,
};
pub use tool_request::{ToolRequestRow, ToolRequestRows};
pub use trainable::TrainableClassifier;
pub use verbose::{StepMatcher, VerboseEvent, VerboseRow, VerboseRows};

use std::borrow::Cow;
use std::sync::Arc;

use convengine_turn::{Map, ProgramRef};
use serde::Deserialize;
use serde_json::Value;

/// An immutable compiled configuration: what turns read. Share it as an `Arc`.
///
/// A configuration is never changed, but replaced by another one, while turns that have begun go on with theirs. The default has neither
/// tables nor a document and answers no message.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// `convengine.*` settings; a row of `ce_config` overrides the settings tree.
    pub settings: Settings,
    /// Patterns and prompts that classify the dialogue act.
    pub dialogue_acts: DialogueActs,
    /// Intents, prompts and thresholds of the intent resolver.
    pub intent_resolver: Part<IntentResolverConfig>,
    /// Policy rows.
    pub policies: Part<Policies>,
    /// Classifier rows of enabled intents.
    pub classifiers: Part<Classifiers>,
    /// Patterns that mark a message as sensitive.
    pub sensitive_patterns: SensitivePatterns,
    /// Actions that run once the user confirms.
    pub pending_actions: Part<PendingActions>,
    /// Texts of the question that disambiguates pending actions.
    pub disambiguation: DisambiguationQuestion,
    /// Containers to fetch, by scope.
    pub containers: Part<Containers>,
    /// Allowed state transitions.
    pub state_edges: Part<StateEdges>,
    /// Prompts of the conversation summary.
    pub memory: PromptPair,
    /// Rules by phase and scope.
    pub rules: Part<Rules>,
    /// Output schemas of the values to collect, by intent and state.
    pub schemas: Part<Schemas>,
    /// Prompt templates by intent and state.
    pub prompts: Part<PromptTemplates>,
    /// Responses by intent.
    pub responses: Part<Responses>,
    /// Tasks hooked into steps, container data and responses.
    pub hooks: Part<HookTasks>,
    /// Executors of tasks that the host does not run itself.
    pub bindings: Part<Bindings>,
    /// Extensions by name.
    pub extensions: Part<Extensions>,
    /// Tools by scope and code.
    pub tools: Part<Tools>,
    /// Tool requests made by the configuration.
    pub tool_requests: Part<ToolRequestRows>,
    /// Prompts of the model that repairs failed SQL queries.
    pub sql_repair: PromptPair,
    /// Planner prompts by scope.
    pub planners: Part<Planners>,
    /// Progress messages by determinant.
    pub verbose: Part<VerboseRows>,
    /// The document that is run in place of tables.
    pub document: Option<DocumentProgram>,
    source: ConfigSource,
    part_cache: PartCache,
}

/// A compiled document with its interpreter: a new interpreter is a variant here, a module in `program`, and one of [`ProgramRef`].
#[derive(Debug, Clone)]
pub enum DocumentProgram {
    /// An assistant, a workflow graph or an AI agent.
    Flow(Arc<flow::Flow>),
    /// A chain.
    Chain(Arc<flow::Chain>),
}

impl Config {
    /// Compiles control tables and a settings tree (the value under `convengine`).
    ///
    /// The order of rows and columns, absent columns with a default and flags as numbers make no difference: tables are brought into a
    /// canonical form first, and the hash is that of the form. Unknown tables are ignored, and unknown settings become warnings.
    pub fn compile(tables: &Tables, tree: &Value) -> (Config, Vec<Issue>) {
        let (config, issues, _) = Config::compile_normalized(tables.to_normalized(), tree, None);
        (config, issues)
    }

    /// Compiles control tables and a settings tree to exactly what [`Config::compile`] does, but shares with an earlier configuration what
    /// it has compiled from the same rows.
    ///
    /// For a host whose tables are edited while it runs: of thousands of rows, mostly those of one table have changed. Only a configuration
    /// with equal settings shares anything.
    ///
    /// ```
    /// use convengine_config::{Config, Tables};
    /// use serde_json::json;
    ///
    /// let tables = |text: &str| -> Result<Tables, serde_json::Error> {
    ///     let response = json!({"response_id": 1, "intent_code": "ANY", "state_code": "ANY", "output_format": "TEXT",
    ///         "response_type": "EXACT", "exact_text": text});
    ///     let policy = json!({"policy_id": 1, "rule_type": "EXACT", "pattern": "forbidden", "response_text": "No."});
    ///     serde_json::from_value(json!({"ce_response": [response], "ce_policy": [policy]}))
    /// };
    /// let (earlier, _) = Config::compile(&tables("Hello.")?, &json!({}));
    /// let (config, _, reuse) = Config::recompile(tables("Hi.")?, &json!({}), Some(&earlier));
    /// assert_eq!((reuse.rows_reused, reuse.rows_compiled), (1, 1), "that of the policy, and that of the response");
    /// assert_ne!(config.hash_source(), earlier.hash_source());
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn recompile(tables: Tables, tree: &Value, earlier: Option<&Config>) -> (Config, Vec<Issue>, Reuse) {
        Config::compile_normalized(tables.into_normalized(), tree, earlier)
    }

    fn compile_normalized(mut tables: Tables, tree: &Value, earlier: Option<&Config>) -> (Config, Vec<Issue>, Reuse) {
        let mut issues = Vec::new();
        let tree = settings::normalize(tree);
        let rows = tables.config_rows();
        let settings = Settings::read(&tree, &rows, &mut issues);
        let profile = settings.profile;
        tables.remove_unread(profile, &mut issues);
        let source = ConfigSource::new(&tables, settings::core_settings(&tree));
        let scopes = Scopes::new(intent_resolver::enabled_intents(&tables), rule::state_codes(&tables));
        let scopes = &scopes;
        let sensitive_patterns = SensitivePatterns::compile(&settings.guardrail, &mut issues);
        // Issues are listed in the order in which the parts are compiled.
        let compiled = earlier.map(|it| EarlierConfig { source: &it.source, cache: &it.part_cache });
        let mut parts = Parts::new(tables, &source, &tree, scopes, compiled, issues);
        let transitions = &settings.state_graph.allowed_transitions;
        let state_edges =
            parts.compile(&["ce_state_graph", "ce_intent", "ce_config"], earlier.map(|it| &it.state_edges), |tables, _, issues| {
                StateEdges::compile(tables, transitions, issues)
            });
        let dialogue_acts = DialogueActs::compile(&rows, &mut parts.issues);
        let intent_resolver = parts.compile(&["ce_intent", "ce_config"], earlier.map(|it| &it.intent_resolver), |tables, _, issues| {
            IntentResolverConfig::compile(tables, &rows, issues)
        });
        let locale = &intent_resolver.example_locale;
        let http = &settings.tools.http;
        let config = Config {
            sensitive_patterns,
            state_edges,
            dialogue_acts,
            policies: parts.compile(&["ce_policy"], earlier.map(|it| &it.policies), Policies::compile),
            classifiers: parts.compile(
                &["ce_intent_classifier", "ce_intent", "ce_config"],
                earlier.map(|it| &it.classifiers),
                |tables, patterns, issues| Classifiers::compile(tables, scopes, locale, patterns, issues),
            ),
            pending_actions: parts.compile(&["ce_pending_action"], earlier.map(|it| &it.pending_actions), |tables, _, issues| {
                PendingActions::compile(tables, scopes, issues)
            }),
            disambiguation: DisambiguationQuestion::compile(&rows, &mut parts.issues),
            containers: parts.compile(&["ce_container_config"], earlier.map(|it| &it.containers), |tables, _, issues| {
                Containers::compile(tables, scopes, issues)
            }),
            memory: memory::compile_prompts(&rows, &mut parts.issues),
            rules: parts.compile(&["ce_rule", "ce_config"], earlier.map(|it| &it.rules), |tables, patterns, issues| {
                Rules::compile(tables, scopes, profile, patterns, issues)
            }),
            schemas: parts.compile(&["ce_output_schema"], earlier.map(|it| &it.schemas), |tables, _, issues| {
                Schemas::compile(tables, scopes, issues)
            }),
            prompts: parts.compile(&["ce_prompt_template"], earlier.map(|it| &it.prompts), |tables, _, issues| {
                PromptTemplates::compile(tables, scopes, issues)
            }),
            hooks: parts.compile(&["ce_task"], earlier.map(|it| &it.hooks), |tables, _, issues| HookTasks::compile(tables, scopes, issues)),
            bindings: parts.compile(&["ce_task", "ce_config"], earlier.map(|it| &it.bindings), |tables, _, issues| {
                Bindings::compile(tables, http, issues)
            }),
            extensions: parts
                .compile(&["cv_extension"], earlier.map(|it| &it.extensions), |tables, _, issues| Extensions::compile(tables, issues)),
            tools: parts.compile(
                &["ce_mcp_tool", "ce_mcp_db_tool", "ce_http_tool", "cv_tool_spec", "cv_mcp_tool", "ce_config"],
                earlier.map(|it| &it.tools),
                |tables, _, issues| Tools::compile(tables, scopes, http, issues),
            ),
            tool_requests: parts.compile(&["ce_tool"], earlier.map(|it| &it.tool_requests), |tables, _, issues| {
                ToolRequestRows::compile(tables, scopes, issues)
            }),
            sql_repair: sql_repair::compile_prompts(&rows, &mut parts.issues),
            planners: parts.compile(&["ce_mcp_planner", "ce_config"], earlier.map(|it| &it.planners), |tables, _, issues| {
                Planners::compile(tables, scopes, &rows, issues)
            }),
            responses: parts.compile(&["ce_response", "ce_config"], earlier.map(|it| &it.responses), |tables, _, issues| {
                Responses::compile(tables, scopes, profile, issues)
            }),
            verbose: parts.compile(&["ce_verbose"], earlier.map(|it| &it.verbose), |tables, patterns, issues| {
                VerboseRows::compile(tables, scopes, patterns, issues)
            }),
            intent_resolver,
            settings,
            document: None,
            source: ConfigSource::default(),
            part_cache: Default::default(),
        };
        let (issues, reuse, part_cache) = parts.finish();
        (Config { source, part_cache, ..config }, issues, reuse)
    }

    /// Compiles a flow document, a workflow graph, an AI agent or a chain, alone or as a bundle with what it runs:
    /// `{"root": document, "bound": [{"version"?, "document"}], "tools": [tool]}`.
    ///
    /// A draft that is not finished compiles as well: nodes that cannot run fail when a session reaches them. What publishing refuses is up
    /// to lint.
    ///
    /// ```
    /// use convengine_config::Config;
    /// use serde_json::json;
    ///
    /// let start = json!({"id": "start", "type": "start", "name": "Start", "data": {}});
    /// let document = json!({
    ///     "schema_version": "1.0", "doc": "conversation_flow", "id": "hello", "name": "Hello", "root": "root",
    ///     "graphs": [{"id": "root", "kind": "root", "entry": "start", "nodes": [start], "edges": []}],
    /// });
    /// let config = Config::from_flow(&document)?;
    /// assert_eq!(config.flow().ok_or("not a flow")?.document.name, "Hello");
    /// assert!(Config::from_flow(&json!({"doc": "conversation_flow"})).is_err());
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    /// The first issue that makes a document unreadable, as text with its code and place.
    pub fn from_flow(document: &Value) -> Result<Config, String> {
        let hash = flow::snapshot_hash(document).trim_start_matches("sha256:").to_owned();
        let program = if flow::is_chain(document) {
            DocumentProgram::Chain(Arc::new(flow::Chain::compile(document)?))
        } else {
            DocumentProgram::Flow(Arc::new(flow::Flow::compile(document)?))
        };
        Ok(Config { source: ConfigSource::from_document(document, hash), document: Some(program), ..Config::default() })
    }

    /// Recompiles a stored snapshot, the [source](Config::source) of a configuration, for a replay. It has the same hash.
    ///
    /// A source that another build has written and this one cannot read leaves an empty configuration: a replay then diverges or is
    /// refused, because its program is another one.
    ///
    /// ```
    /// use convengine_config::{Config, Tables};
    /// use serde_json::json;
    ///
    /// let (config, _) = Config::compile(&Tables::default(), &json!({"pipeline": {"profile": "v1"}}));
    /// let (again, issues) = Config::from_source(&config.source());
    /// assert_eq!((again.hash_source(), again.program()), (config.hash_source(), config.program()));
    /// assert!(issues.is_empty());
    /// ```
    pub fn from_source(source: &Value) -> (Config, Vec<Issue>) {
        if let Some(Ok(config)) = source.get("flow").map(Config::from_flow) {
            return (config, Vec::new());
        }
        let tables = source.get("tables").and_then(|tables| Tables::deserialize(tables).ok()).unwrap_or_default();
        Config::compile(&tables, source.get("settings").unwrap_or(&Value::Null))
    }

    /// SHA-256 of the canonical source, in hexadecimal: the identity of a configuration, which journals name. Only what turns read counts:
    /// the settings of a host, time stamps and the positions of nodes on a canvas make no difference.
    pub fn hash_source(&self) -> &str {
        &self.source.hash
    }

    /// SHA-256 of the canonical rows without settings, in hexadecimal; blank for a document.
    pub fn hash_rows(&self) -> &str {
        &self.source.rows_hash
    }

    /// Returns the rows and settings that this snapshot was compiled from; replay recompiles it from them. Those of tables are parsed at
    /// each call.
    pub fn source(&self) -> Cow<'_, Value> {
        self.source.value()
    }

    /// Returns the source as JSON.
    pub fn source_text(&self) -> String {
        self.source.text()
    }

    /// Returns the settings that affect turns: of the tree, `flow`, `audit`, `mcp` and `pipeline`. Null for a document.
    pub fn source_settings(&self) -> &Value {
        self.source.settings()
    }

    /// Parses the rows of a table that this snapshot was compiled from.
    pub fn source_rows(&self, table: &str) -> Vec<Map> {
        self.source.rows(table)
    }

    /// Iterates over the tables that this snapshot was compiled from, with their numbers of rows.
    pub fn row_counts(&self) -> impl Iterator<Item = (&str, usize)> {
        self.source.row_counts()
    }

    /// The program that a user message runs, for [`TurnInput::program`](convengine_turn::TurnInput::program).
    pub fn program(&self) -> ProgramRef {
        match &self.document {
            Some(DocumentProgram::Flow(_)) => ProgramRef::Flow,
            Some(DocumentProgram::Chain(_)) => ProgramRef::Chain,
            None => self.settings.profile.program,
        }
    }

    /// The flow that is run: that of an assistant, a workflow graph or an AI agent.
    pub fn flow(&self) -> Option<&flow::Flow> {
        if let Some(DocumentProgram::Flow(flow)) = &self.document { Some(flow) } else { None }
    }

    /// The chain that is run.
    pub fn chain(&self) -> Option<&Arc<flow::Chain>> {
        if let Some(DocumentProgram::Chain(chain)) = &self.document { Some(chain) } else { None }
    }

    /// Why no turn can run: the path and reason of an invalid policy row. Each turn then fails with `POLICY_UNAVAILABLE`, so a host says it
    /// at its start.
    pub fn policy_unavailable(&self) -> Option<&str> {
        self.policies.unavailable_reason.as_deref()
    }
}
