//! The typed form of a chain. (docs/spec/chains.md#1)

mod step;

use serde_json::Value;

pub use step::{
    DecideCase, DecideStep, HumanStep, InboundStep, NotifyStep, OnExpire, OutboundStep, ProgramStep, SleepStep, StepDef, StepKind,
    StepOnError,
};

use convengine_text::time_zone;

use super::fields::Fields;

/// The default duration of a run, in milliseconds: 30 days.
const MAX_RUN_MS: u64 = 30 * 24 * 60 * 60 * 1000;

/// A chain.
#[derive(Debug, Clone)]
pub struct ChainDocument {
    /// Its id.
    pub slug: String,
    /// Its name.
    pub name: String,
    /// Whether it is paused once it is published.
    pub is_paused: bool,
    /// The time zone of its runs, by its IANA name; UTC without one.
    pub default_time_zone: Option<&'static str>,
    /// What starts its runs.
    pub trigger: TriggerDef,
    /// Its primary steps.
    pub steps: Vec<StepDef>,
    /// Its branches.
    pub branches: Vec<BranchDef>,
    /// The maximum duration of a run, in milliseconds.
    pub max_run_ms: u64,
    /// The maximum number of unfinished runs that a schedule starts; `None` for no limit.
    pub concurrency: Option<u32>,
}

/// What starts the runs of a chain.
#[derive(Debug, Clone)]
pub struct TriggerDef {
    /// The kind.
    pub kind: TriggerKind,
    /// The secret that signs its webhooks.
    pub secret: Option<String>,
    /// The times of a schedule.
    pub schedule: ScheduleTimes,
    /// What happens while an earlier run is unfinished.
    pub overlap: Overlap,
}

/// The kind of a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerKind {
    /// The API.
    Manual,
    /// A signed webhook.
    Webhook,
    /// A schedule.
    Schedule,
    /// An event of the host.
    Event,
}

/// What a schedule does while an earlier run is unfinished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlap {
    /// It starts no run.
    Skip,
    /// It starts the run once the earlier one has ended.
    Queue,
    /// It starts the run.
    Allow,
}

/// A cron expression with its time zone.
#[derive(Debug, Clone, Default)]
pub struct ScheduleTimes {
    /// The cron expression.
    pub cron: Option<String>,
    /// The time zone, by its IANA name; that of the chain without one.
    pub timezone: Option<String>,
    /// Whether a missed time is skipped rather than caught up once.
    pub skips_missed: bool,
}

/// A branch.
#[derive(Debug, Clone)]
pub struct BranchDef {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its steps.
    pub steps: Vec<StepDef>,
    /// Whether the run ends after it.
    pub stops: bool,
}

impl ChainDocument {
    /// Reads a chain whose structure has been checked.
    pub fn read(source: &Value) -> ChainDocument {
        let fields = Fields(source);
        ChainDocument {
            slug: fields.string("slug"),
            name: fields.string("name"),
            is_paused: fields.text("status") == Some("paused"),
            default_time_zone: fields.text("default_time_zone").and_then(time_zone::canonical_name),
            trigger: TriggerDef::read(fields.object_or_empty("trigger")),
            steps: fields.list("steps", StepDef::read).into_iter().flatten().collect(),
            branches: fields.list("branches", BranchDef::read),
            max_run_ms: fields.count("max_run_ms").unwrap_or(MAX_RUN_MS),
            concurrency: fields.count_u32("concurrency"),
        }
    }

    /// The time zone of runs: that of the chain, else UTC.
    pub fn time_zone(&self) -> &str {
        self.default_time_zone.unwrap_or(time_zone::UTC)
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

impl TriggerDef {
    fn read(fields: Fields<'_>) -> TriggerDef {
        let kinds = [
            ("webhook", TriggerKind::Webhook),
            ("schedule", TriggerKind::Schedule),
            ("event", TriggerKind::Event),
            ("manual", TriggerKind::Manual),
        ];
        TriggerDef {
            kind: fields.keyword("kind", &kinds).unwrap_or(TriggerKind::Manual),
            secret: fields.optional_string("secret"),
            schedule: ScheduleTimes::read(fields),
            overlap: fields.keyword("overlap", &[("queue", Overlap::Queue), ("allow", Overlap::Allow)]).unwrap_or(Overlap::Skip),
        }
    }
}

impl ScheduleTimes {
    /// The time zone: its own, else that of the chain.
    pub fn time_zone<'s>(&'s self, chain: &'s ChainDocument) -> &'s str {
        self.timezone.as_deref().unwrap_or_else(|| chain.time_zone())
    }

    fn read(fields: Fields<'_>) -> ScheduleTimes {
        ScheduleTimes {
            cron: fields.optional_string("cron"),
            timezone: fields.optional_string("timezone"),
            skips_missed: fields.text("misfire") == Some("skip"),
        }
    }
}

impl BranchDef {
    fn read(fields: Fields<'_>) -> BranchDef {
        BranchDef {
            id: fields.string("id"),
            name: fields.string("name"),
            steps: fields.list("steps", StepDef::read).into_iter().flatten().collect(),
            stops: fields.text("then") == Some("stop"),
        }
    }
}
