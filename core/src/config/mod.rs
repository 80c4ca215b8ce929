//! Configuration: control tables and settings compiled to an immutable snapshot with a content hash.
//!
//! Compiling never fails. A row that cannot be compiled is skipped and becomes an [`Issue`]; only an invalid policy row stops
//! turns, because skipping it would let through what it blocks. (docs/decisions/0009-invalid-configuration-rows.md)

mod binding;
mod built_in;
mod classifier;
mod code;
mod container;
mod defaults;
mod dialogue_act;
mod disambiguation;
mod extension;
pub mod flow;
mod guardrail;
mod http_call;
mod intent_resolver;
mod issue;
mod matcher;
mod matcher_set;
mod memory;
mod pending_action;
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
mod sql_repair;
mod state_graph;
mod step;
mod tables;
mod task;
mod tool;
mod tool_request;
mod trainable;
mod verbose;

pub use binding::{Binding, Bindings};
pub use built_in::PromptPair;
pub use classifier::{Classifier, Classifiers, Example};
pub use code::{ANY, UNKNOWN, is_same_code};
pub(crate) use code::{enclosing_scopes, to_upper_code};
pub use container::{Container, Containers};
pub use dialogue_act::{DialogueAct, DialogueActPrompts, DialogueActs};
pub use disambiguation::DisambiguationQuestion;
pub use extension::{Extension, Extensions};
pub use guardrail::{Indeterminate, SensitivePatterns};
pub use http_call::{HttpCall, ResponseMapping, ValueSource};
pub use intent_resolver::{AllowedIntent, IntentResolverConfig};
pub use issue::{Issue, Severity};
pub use matcher::TextMatcher;
pub use pending_action::{PendingAction, PendingActions};
pub use planner::{Planner, Planners};
pub use policy::{Policies, Policy};
pub use profile::{Arbitration, Profile, V1, V2};
pub use prompt::{InteractionTerms, PromptTemplate, PromptTemplates, SCHEMA_JSON};
pub use response::{OutputFormat, Response, ResponseSource, Responses};
pub(crate) use row::{TableRow, by_priority};
pub use rule::{Phase, Rule, RuleAction, RuleCondition, Rules, SetDialogueAct};
pub use schema::{OutputSchema, SchemaField, Schemas, ValueKind, ValueSchema};
use scope::Scopes;
pub use script::{MEMBERS as TASK_MEMBERS, Script};
pub use settings::{DialogueActMode, InteractionDecision, Settings};
pub use state_graph::StateEdges;
pub use step::Step;
pub use tables::Tables;
pub use task::{HookPoint, HookStage, HookTask, HookTasks};
pub use tool::{
    ArgumentsSchema, Executor, McpTool, SqlTemplate, Tool, Tools, canonical_tool_group, classify_mcp_tool, join_mcp_code, mcp_spec,
    split_mcp_code,
};
pub use tool_request::{ArgsTemplate, ToolRequestRow, ToolRequestRows};
pub use trainable::TrainableClassifier;
pub use verbose::{StepMatcher, VerboseEvent, VerboseRow, VerboseRows};

use std::sync::Arc;

use serde_json::{Value, json};

use crate::json::canonical;
use crate::turn::ProgramRef;

/// An immutable compiled configuration.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// `convengine.*` settings; a row of `ce_config` overrides the settings tree.
    pub settings: Settings,
    /// Patterns and prompts that classify the dialogue act.
    pub dialogue_acts: DialogueActs,
    /// Intents, prompts and thresholds of the intent resolver.
    pub intent_resolver: IntentResolverConfig,
    /// Policy rows.
    pub policies: Policies,
    /// Classifier rows of enabled intents.
    pub classifiers: Classifiers,
    /// Patterns that mark a message as sensitive.
    pub sensitive_patterns: SensitivePatterns,
    /// Actions that run once the user confirms.
    pub pending_actions: PendingActions,
    /// Texts of the question that disambiguates pending actions.
    pub disambiguation: DisambiguationQuestion,
    /// Containers to fetch, by scope.
    pub containers: Containers,
    /// Allowed state transitions.
    pub state_edges: StateEdges,
    /// Prompts of the conversation summary.
    pub memory: PromptPair,
    /// Rules by phase and scope.
    pub rules: Rules,
    /// Output schemas of the values to collect, by intent and state.
    pub schemas: Schemas,
    /// Prompt templates by intent and state.
    pub prompts: PromptTemplates,
    /// Responses by intent.
    pub responses: Responses,
    /// Tasks hooked into steps, container data and responses.
    pub hooks: HookTasks,
    /// Executors of tasks that the host does not run itself.
    pub bindings: Bindings,
    /// Extensions by name.
    pub extensions: Extensions,
    /// Tools by scope and code.
    pub tools: Tools,
    /// Tool requests made by the configuration.
    pub tool_requests: ToolRequestRows,
    /// Prompts of the model that repairs failed SQL queries.
    pub sql_repair: PromptPair,
    /// Planner prompts by scope.
    pub planners: Planners,
    /// Progress messages by determinant.
    pub verbose: VerboseRows,
    /// The document that is run in place of tables.
    pub document: Option<DocumentProgram>,
    hash: String,
    source: Value,
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
    pub fn compile(tables: &Tables, tree: &Value) -> (Config, Vec<Issue>) {
        let mut issues = Vec::new();
        let tree = settings::normalize(tree);
        let mut tables = tables.to_normalized();
        let rows = tables.config_rows();
        let settings = Settings::read(&tree, &rows, &mut issues);
        let profile = settings.profile;
        profile.remove_unread_tables(&mut tables, &mut issues);
        let tables = &tables;
        let source = json!({"tables": tables, "settings": settings::core_settings(&tree)});
        let scopes = Scopes::from_tables(tables);
        let sensitive_patterns = SensitivePatterns::compile(&settings.guardrail, &mut issues);
        let state_edges = StateEdges::compile(tables, &settings.state_graph.allowed_transitions, &mut issues);
        let dialogue_acts = DialogueActs::compile(&rows, &mut issues);
        let intent_resolver = IntentResolverConfig::compile(tables, &rows, &mut issues);
        let config = Config {
            sensitive_patterns,
            state_edges,
            dialogue_acts,
            policies: Policies::compile(tables, &mut issues),
            classifiers: Classifiers::compile(tables, &scopes, &intent_resolver.example_locale, &mut issues),
            intent_resolver,
            pending_actions: PendingActions::compile(tables, &scopes, &mut issues),
            disambiguation: DisambiguationQuestion::compile(&rows, &mut issues),
            containers: Containers::compile(tables, &scopes, &mut issues),
            memory: memory::compile_prompts(&rows, &mut issues),
            rules: Rules::compile(tables, &scopes, profile, &mut issues),
            schemas: Schemas::compile(tables, &scopes, &mut issues),
            prompts: PromptTemplates::compile(tables, &scopes, &mut issues),
            hooks: HookTasks::compile(tables, &scopes, &mut issues),
            bindings: Bindings::compile(tables, &settings.tools.http, &mut issues),
            extensions: Extensions::compile(tables, &mut issues),
            tools: Tools::compile(tables, &scopes, &settings.tools.http, &mut issues),
            tool_requests: ToolRequestRows::compile(tables, &scopes, &mut issues),
            sql_repair: sql_repair::compile_prompts(&rows, &mut issues),
            planners: Planners::compile(tables, &scopes, &rows, &mut issues),
            responses: Responses::compile(tables, &scopes, profile, &mut issues),
            verbose: VerboseRows::compile(tables, &scopes, &mut issues),
            settings,
            document: None,
            hash: hash_source(&source),
            source,
        };
        (config, issues)
    }

    /// Compiles a flow document or a chain.
    ///
    /// # Errors
    /// The first issue that makes the document unreadable.
    pub fn from_flow(document: &Value) -> Result<Config, String> {
        let hash = flow::snapshot_hash(document).trim_start_matches("sha256:").to_owned();
        let program = if flow::is_chain(document) {
            DocumentProgram::Chain(Arc::new(flow::Chain::compile(document)?))
        } else {
            DocumentProgram::Flow(Arc::new(flow::Flow::compile(document)?))
        };
        Ok(Config { hash, source: json!({"flow": document}), document: Some(program), ..Config::default() })
    }

    /// Recompiles a stored snapshot.
    pub fn from_source(source: &Value) -> (Config, Vec<Issue>) {
        #[cfg(feature = "flow")]
        if let Some(Ok(config)) = source.get("flow").map(Config::from_flow) {
            return (config, Vec::new());
        }
        #[cfg(feature = "tables")]
        {
            let tables = source.get("tables").cloned().and_then(|it| serde_json::from_value(it).ok()).unwrap_or_default();
            Config::compile(&tables, source.get("settings").unwrap_or(&Value::Null))
        }
        #[cfg(not(feature = "tables"))]
        (Config::default(), Vec::new())
    }

    /// SHA-256 of the canonical source, in hexadecimal.
    pub fn hash_source(&self) -> &str {
        &self.hash
    }

    /// The rows and settings that this snapshot was compiled from; replay recompiles it from them.
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// The program that a user message runs.
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

    /// Why no turn can run: the path and reason of an invalid policy row.
    pub fn policy_unavailable(&self) -> Option<&str> {
        self.policies.unavailable_reason.as_deref()
    }
}

fn hash_source(source: &Value) -> String {
    let mut hasher = canonical::Hasher::default();
    hasher.add_json(source);
    hasher.finish()
}
