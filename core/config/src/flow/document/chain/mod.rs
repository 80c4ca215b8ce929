//! The typed form of a chain. (docs/spec/chains.md#1)

mod step;

pub use step::{
    DecideCase, DecideStep, HumanStep, InboundStep, NotifyStep, OnExpire, OutboundStep, ProgramStep, SleepStep, StepDef, StepKind,
    StepOnError,
};

use convengine_derive::Described;
use convengine_text::time_zone;
use convengine_turn::Map;
use serde_json::Value;

use super::super::shape::{Absent, Described, Unread};

/// A chain.
#[derive(Debug, Clone, Described)]
#[described(definition = "Chain")]
pub struct ChainDocument {
    /// The version of the format.
    #[member(required, shape = SCHEMA_VERSION)]
    pub schema_version: Unread<String>,
    /// The kind of the document.
    #[member(required, shape = Const("workflow_chain", "D001"))]
    pub doc: Unread<String>,
    /// Its id.
    #[member(required, shape = PatternText(Pattern::Slug), example = r#""daily-report""#)]
    pub slug: String,
    /// Its name.
    #[member(required, shape = NAME)]
    pub name: String,
    /// The time zone of its runs, by its IANA name; UTC without one.
    #[member(shape = PatternText(Pattern::TimeZone))]
    pub default_time_zone: Option<String>,
    /// What it is once it is published.
    pub status: InitialStatus,
    /// What it is for.
    pub summary: Option<Unread<String>>,
    /// What starts its runs.
    #[member(required)]
    pub trigger: TriggerDef,
    /// Its primary steps.
    #[member(required, items(0, 100), codes("D001", "D005"))]
    pub steps: Vec<StepDef>,
    /// Its branches.
    #[member(items(0, 100))]
    pub branches: Vec<BranchDef>,
    /// The maximum duration of a run, in milliseconds: 30 days.
    #[member(shape = POSITIVE, default = 2592000000)]
    pub max_run_ms: u64,
    /// The maximum number of unfinished runs that a schedule starts; no limit when absent.
    #[member(shape = POSITIVE)]
    pub concurrency: Option<u32>,
    /// What others keep in the document.
    pub meta: Option<Unread<Map>>,
}

/// What a chain is once it is published.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Described)]
pub enum InitialStatus {
    /// It runs, as with `live`.
    #[default]
    Draft,
    /// It runs.
    Live,
    /// It is paused.
    Paused,
}

/// What starts the runs of a chain.
#[derive(Debug, Clone, Described)]
#[described(definition = "ChainTrigger")]
pub struct TriggerDef {
    /// What starts a run.
    #[member(required)]
    pub kind: TriggerKind,
    /// Its label.
    pub label: Option<Unread<String>>,
    /// The secret that signs its webhooks.
    #[member(shape = SECRET)]
    pub secret: Option<String>,
    /// The times of a schedule.
    #[member(flatten)]
    pub schedule: ScheduleTimes,
    /// What happens while an earlier run is unfinished.
    pub overlap: Overlap,
}

/// The kind of a trigger.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Described)]
pub enum TriggerKind {
    /// The API.
    #[default]
    Manual,
    /// A signed webhook.
    Webhook,
    /// A schedule.
    Schedule,
    /// An event of the host.
    Event,
}

/// What a schedule does while an earlier run is unfinished.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Described)]
pub enum Overlap {
    /// It starts no run.
    #[default]
    Skip,
    /// It starts the run once the earlier one has ended.
    Queue,
    /// It starts the run.
    Allow,
}

/// A cron expression with its time zone.
#[derive(Debug, Clone, Default, Described)]
pub struct ScheduleTimes {
    /// The cron expression.
    #[member(example = r#""0 9 * * 1-5""#)]
    pub cron: Option<String>,
    /// The time zone, by its IANA name; that of the chain without one.
    pub timezone: Option<String>,
    /// What becomes of a time at which no server ran.
    pub misfire: Misfire,
}

/// What becomes of a time at which no server ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Described)]
pub enum Misfire {
    /// It is caught up once.
    #[default]
    RunOnce,
    /// It is skipped.
    Skip,
}

/// A branch.
#[derive(Debug, Clone, Described)]
#[described(definition = "ChainBranch", role = Graph)]
pub struct BranchDef {
    /// Its id.
    #[member(required, shape = ID)]
    pub id: String,
    /// Its name.
    #[member(required, shape = NAME)]
    pub name: String,
    /// Its steps.
    #[member(required, items(0, 100), codes("D001", "D005"))]
    pub steps: Vec<StepDef>,
    /// What follows it.
    pub then: AfterBranch,
}

/// What follows a branch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Described)]
pub enum AfterBranch {
    /// The step after the one that chose it.
    #[default]
    Rejoin,
    /// The end of the run.
    Stop,
}

impl ChainDocument {
    /// Reads a chain whose structure has been checked.
    pub fn read(source: &Value) -> ChainDocument {
        <ChainDocument as Described>::read(source).unwrap_or_else(ChainDocument::absent)
    }

    /// The time zone that the chain names, as the engine spells it.
    pub fn own_time_zone(&self) -> Option<&'static str> {
        self.default_time_zone.as_deref().and_then(time_zone::canonical_name)
    }

    /// The time zone of runs: that of the chain, else UTC.
    pub fn time_zone(&self) -> &str {
        self.own_time_zone().unwrap_or(time_zone::UTC)
    }

    /// Returns a branch by id.
    pub fn branch(&self, id: &str) -> Option<&BranchDef> {
        self.branches.iter().find(|it| it.id == id)
    }

    /// Iterates over all steps, those of branches after the primary ones.
    pub fn all_steps(&self) -> impl Iterator<Item = &StepDef> {
        self.steps.iter().chain(self.branches.iter().flat_map(|it| &it.steps))
    }

    /// The secret of the webhooks that start runs: of the trigger, or of a first step that awaits one.
    pub fn ingress_secret(&self) -> Option<&str> {
        let of_step = || match &self.steps.first()?.kind {
            StepKind::Inbound(step) => step.secret.as_deref(),
            StepKind::Program(_)
            | StepKind::Outbound(_)
            | StepKind::Human(_)
            | StepKind::Decide(_)
            | StepKind::Notify(_)
            | StepKind::Sleep(_) => None,
        };
        self.trigger.secret.as_deref().or_else(of_step)
    }
}

impl ScheduleTimes {
    /// The time zone: its own, else that of the chain.
    pub fn time_zone<'s>(&'s self, chain: &'s ChainDocument) -> &'s str {
        self.timezone.as_deref().unwrap_or_else(|| chain.time_zone())
    }
}
