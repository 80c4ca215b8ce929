//! Configuration: control tables and settings compiled to an immutable snapshot with a content hash.
//!
//! Compiling never fails. A row that cannot be compiled is skipped and becomes an [`Issue`]; only an invalid policy row stops
//! turns, because skipping it would let through what it blocks. (docs/decisions/README.md#3)

mod acts;
mod age;
mod agent;
mod binding;
mod built_in;
mod by_scope;
mod classifier;
mod container;
mod defaults;
mod disambiguation;
mod extension;
pub mod flow;
mod guardrail;
mod http_call;
mod issue;
mod matcher;
mod matcher_set;
mod memory;
mod pending_action;
mod planner;
mod policy;
mod profile;
mod prompt;
mod response;
mod row;
mod rule;
mod schema;
mod scope;
mod script;
pub mod settings;
mod sql_repair;
mod state_graph;
mod step;
mod tables;
mod task;
mod tool;
mod tool_request;
mod verbose;

pub use acts::{Act, ActPrompts, Acts};
pub use agent::{Agent, AllowedIntent};
pub use binding::{Binding, Bindings};
pub use built_in::PromptPair;
pub use classifier::{Classifier, Classifiers, Example};
pub use container::{Container, Containers};
pub use disambiguation::Question;
pub use extension::{Extension, Extensions};
pub use guardrail::{SensitivePatterns, Undecided};
pub use http_call::{HttpCall, Mapping, Values};
pub use issue::{Issue, Severity};
pub use matcher::TextMatcher;
pub use pending_action::{PendingAction, PendingActions};
pub use planner::{Planner, Planners};
pub use policy::{Policies, Policy};
pub use profile::{Arbitration, Profile, V1, V2};
pub use prompt::{InteractionTerms, PromptTemplate, PromptTemplates, SCHEMA_JSON};
pub use response::{Making, OutputFormat, Response, Responses};
pub(crate) use row::{Row, by_priority};
pub use rule::{Action, Condition, Phase, Rule, Rules, SetDialogueAct};
pub use schema::{Field, Kind, OutputSchema, Schemas, Shape};
use scope::Scopes;
pub use scope::{ANY, UNKNOWN, same_code};
pub(crate) use scope::{around, upper};
pub use script::{MEMBERS as TASK_MEMBERS, Script};
pub use settings::{Decision, DialogueActMode, Settings};
pub use state_graph::StateEdges;
pub use step::Step;
pub use tables::Tables;
pub use task::{HookMoment, PlacedTask, PlacedTasks, TaskPlace};
pub use tool::{Arguments, Executor, SqlTemplate, Tool, Tools, tool_group};
pub use tool_request::{Args, ToolRow, ToolRows};
pub use verbose::{Occasion, StepMatch, Verbose, VerboseRows};

use std::sync::Arc;

use serde_json::{Value, json};

use crate::json::canon;
use crate::turn::ProgramRef;

/// An immutable compiled configuration.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// `convengine.*` settings; a row of `ce_config` overrides the settings tree.
    pub settings: Settings,
    /// Patterns and prompts that classify the dialogue act.
    pub acts: Acts,
    /// Intents, prompts and thresholds of the intent resolver.
    pub agent: Agent,
    /// Policy rows.
    pub policies: Policies,
    /// Classifier rows of enabled intents.
    pub classifiers: Classifiers,
    /// Patterns that mark a message as sensitive.
    pub sensitive: SensitivePatterns,
    /// Actions that run once the user confirms.
    pub pending_actions: PendingActions,
    /// Texts of the question that disambiguates pending actions.
    pub question: Question,
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
    pub tasks: PlacedTasks,
    /// Executors of tasks that the host does not run itself.
    pub bindings: Bindings,
    /// Extensions by name.
    pub extensions: Extensions,
    /// Tools by scope and code.
    pub tools: Tools,
    /// Tool requests made by the configuration.
    pub tool_rows: ToolRows,
    /// Prompts of the model that repairs failed SQL queries.
    pub sql_repair: PromptPair,
    /// Planner prompts by scope.
    pub planners: Planners,
    /// Progress messages by determinant.
    pub verbose: VerboseRows,
    /// The flow document, when the program is a flow.
    pub flow: Option<Arc<flow::Flow>>,
    hash: String,
    source: Value,
}

impl Config {
    /// Compiles control tables and a settings tree (the value under `convengine`).
    pub fn compile(tables: &Tables, tree: &Value) -> (Config, Vec<Issue>) {
        let mut issues = Vec::new();
        let tree = settings::normalise(tree);
        let mut tables = tables.compiled();
        let rows = tables.config_rows();
        let settings = Settings::read(&tree, &rows, &mut issues);
        let profile = settings.profile;
        profile.leave_out(&mut tables, &mut issues);
        let tables = &tables;
        let source = json!({"tables": tables, "settings": settings::of_the_core(&tree)});
        let scopes = Scopes::of(tables);
        let config = Config {
            sensitive: SensitivePatterns::compile(&settings.guardrail, &mut issues),
            state_edges: StateEdges::compile(tables, &settings.state_graph.allowed, &mut issues),
            acts: Acts::compile(&rows, &mut issues),
            agent: Agent::compile(tables, &rows, &mut issues),
            policies: Policies::compile(tables, &mut issues),
            classifiers: Classifiers::compile(tables, &scopes, &mut issues),
            pending_actions: PendingActions::compile(tables, &scopes, &mut issues),
            question: Question::compile(&rows, &mut issues),
            containers: Containers::compile(tables, &scopes, &mut issues),
            memory: memory::prompts(&rows, &mut issues),
            rules: Rules::compile(tables, &scopes, profile, &mut issues),
            schemas: Schemas::compile(tables, &scopes, &mut issues),
            prompts: PromptTemplates::compile(tables, &scopes, &mut issues),
            tasks: PlacedTasks::compile(tables, &scopes, &mut issues),
            bindings: Bindings::compile(tables, &settings.tools.http, &mut issues),
            extensions: Extensions::compile(tables, &mut issues),
            tools: Tools::compile(tables, &scopes, &settings.tools.http, &mut issues),
            tool_rows: ToolRows::compile(tables, &scopes, &mut issues),
            sql_repair: sql_repair::prompts(&rows, &mut issues),
            planners: Planners::compile(tables, &scopes, &rows, &mut issues),
            responses: Responses::compile(tables, &scopes, profile, &mut issues),
            verbose: VerboseRows::compile(tables, &scopes, &mut issues),
            settings,
            flow: None,
            hash: hash(&source),
            source,
        };
        (config, issues)
    }

    /// Compiles a flow document.
    ///
    /// # Errors
    /// The first issue that makes the document unreadable.
    pub fn of_flow(document: &Value) -> Result<Config, String> {
        let flow = flow::Flow::compile(document)?;
        let hash = flow::snapshot(document).trim_start_matches("sha256:").to_owned();
        Ok(Config { hash, source: json!({"flow": document}), flow: Some(Arc::new(flow)), ..Config::default() })
    }

    /// Recompiles a stored snapshot.
    pub fn from_source(source: &Value) -> (Config, Vec<Issue>) {
        #[cfg(feature = "flow")]
        if let Some(Ok(config)) = source.get("flow").map(Config::of_flow) {
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
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The rows and settings that this snapshot was compiled from; replay recompiles it from them.
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// The program that a user message runs.
    pub fn program(&self) -> ProgramRef {
        if self.flow.is_some() { ProgramRef::Flow } else { self.settings.profile.program }
    }

    /// Why no turn can run: the path and reason of an invalid policy row.
    pub fn policy_unavailable(&self) -> Option<&str> {
        self.policies.unavailable.as_deref()
    }
}

fn hash(source: &Value) -> String {
    let mut hasher = canon::Hasher::default();
    hasher.json(source);
    hasher.finish()
}
