//! The stored state of a run. (docs/spec/chains.md#2)

use convengine_turn::{Map, StateMachine};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{FlowUsage, Timer};

/// Version of the stored format; states of any other version are rejected.
pub const SCHEMA_VERSION: &str = "1.0";

/// The name of the program in stored states.
pub const PROGRAM: &str = "chain";

/// The status of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// It has not begun.
    Queued,
    /// It executes steps.
    Running,
    /// It awaits the decision of a person.
    AwaitingHuman,
    /// It awaits a webhook or a message.
    AwaitingEvent,
    /// It sleeps until a time.
    Sleeping,
    /// All steps are done.
    Succeeded,
    /// A step has failed.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl RunStatus {
    /// Whether nothing more happens, unless a failed run is retried.
    pub fn is_final(self) -> bool {
        matches!(self, RunStatus::Succeeded | RunStatus::Failed | RunStatus::Cancelled)
    }
}

/// The status of an attempt of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// It is being executed.
    Running,
    /// It waits.
    Waiting,
    /// It is done.
    Succeeded,
    /// It has failed.
    Failed,
    /// It was not executed.
    Skipped,
    /// The run was cancelled while it was executed.
    Cancelled,
}

/// What moves an attempt of a step, which begins as running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepEvent {
    /// The step has its output.
    Succeed,
    /// It waits for a person, a webhook, a message or a time.
    Wait,
    /// The step is disabled, or the run continues without its output.
    Skip,
    /// It has failed, or its run has.
    Fail,
    /// The run is cancelled.
    Cancel,
}

impl StateMachine for StepStatus {
    type Event = StepEvent;

    const NAME: &'static str = "chain_step";

    const TRANSITIONS: &'static [(StepStatus, StepEvent, StepStatus)] = &[
        (StepStatus::Running, StepEvent::Succeed, StepStatus::Succeeded),
        (StepStatus::Running, StepEvent::Wait, StepStatus::Waiting),
        (StepStatus::Running, StepEvent::Skip, StepStatus::Skipped),
        (StepStatus::Running, StepEvent::Fail, StepStatus::Failed),
        (StepStatus::Running, StepEvent::Cancel, StepStatus::Cancelled),
        (StepStatus::Waiting, StepEvent::Succeed, StepStatus::Succeeded),
        (StepStatus::Waiting, StepEvent::Skip, StepStatus::Skipped),
        (StepStatus::Waiting, StepEvent::Fail, StepStatus::Failed),
        (StepStatus::Waiting, StepEvent::Cancel, StepStatus::Cancelled),
    ];
}

/// An attempt of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepRun {
    /// The path of the step: its id, below those of the branches and the steps that entered them.
    pub path: String,
    /// The id of the step.
    pub step_id: String,
    /// The kind of the step.
    pub kind: String,
    /// The status.
    pub status: StepStatus,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// What it worked on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// The output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Why it failed: `code` and `message`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
    /// When it began, in ISO 8601.
    pub started_at: String,
    /// When it ended, in ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
}

/// A sequence of steps that is being executed: the primary one, or a branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFrame {
    /// The branch; absent for the primary steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The path of its steps without their ids, with a slash at the end unless it is empty.
    pub prefix: String,
    /// The position of the current step.
    pub index: usize,
}

/// What a run waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// The decision of a person.
    Human,
    /// A signed webhook.
    Webhook,
    /// The next message to an assistant or AI agent.
    Message,
    /// A time.
    Time,
    /// The next attempt of the step.
    Retry,
}

impl WaitKind {
    /// Whether an event of a user or an operator ends it.
    pub fn is_resumable(self) -> bool {
        matches!(self, WaitKind::Human | WaitKind::Message)
    }
}

/// A wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// What is awaited.
    pub kind: WaitKind,
    /// The path of the step.
    pub path: String,
    /// The id of the step.
    pub step_id: String,
    /// The attempt of the step.
    pub attempt: u32,
    /// How often its token was replaced.
    #[serde(default)]
    pub token_serial: u32,
    /// When it ends by itself, in ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<String>,
    /// The question to a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The people that are asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assignees: Vec<String>,
    /// The possible decisions; any when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// The fields to fill in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub form: Vec<Value>,
}

/// A wait that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedWait {
    /// What was awaited.
    pub kind: WaitKind,
    /// The path of the step.
    pub path: String,
    /// The attempt of the step.
    pub attempt: u32,
    /// The serial of its last token.
    pub token_serial: u32,
    /// Whether it ended by itself.
    pub is_expired: bool,
}

/// The stored state of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// Version of the format, `1.0`.
    pub schema_version: String,
    /// `chain`.
    pub program: String,
    /// The id of the run.
    pub id: String,
    /// The slug of the chain.
    pub chain: String,
    /// Content hash of the chain that it runs on.
    pub snapshot: String,
    /// The status.
    pub status: RunStatus,
    /// Number of events.
    pub seq: u64,
    /// What started it.
    pub trigger: Map,
    /// The idempotency key of its trigger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Variables of the steps.
    #[serde(default)]
    pub context: Map,
    /// The path of the current step; after a failure, of the failed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The last branch that was entered from a primary step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch_taken: Option<String>,
    /// Attempts of primary steps.
    #[serde(default)]
    pub primary_trace: Vec<StepRun>,
    /// Attempts of steps of branches.
    #[serde(default)]
    pub branch_trace: Vec<StepRun>,
    /// When it continues by itself, in ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_at: Option<String>,
    /// How often it was begun: 1, and 1 more for each retry.
    pub attempt: u32,
    /// When it began, in ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// When it was last retried, in ISO 8601; its time begins again then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reopened_at: Option<String>,
    /// When it ended, in ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
    /// Usage of models and tools.
    #[serde(default)]
    pub usage: FlowUsage,
    /// The sequences that are being executed, the innermost last.
    pub frames: Vec<RunFrame>,
    /// Attempts of the current step since it was entered or retried.
    #[serde(default)]
    pub tries: u32,
    /// The last step that was executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Wait>,
    /// Waits that have ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closed_waits: Vec<ClosedWait>,
    /// The session of the assistant or AI agent that the current step talks to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<Value>,
    /// Armed timers.
    #[serde(default)]
    pub timers: Vec<Timer>,
    /// When it was created, in ISO 8601.
    pub created_at: String,
    /// When the last event happened, in ISO 8601.
    #[serde(default)]
    pub last_event_at: String,
}

impl RunState {
    /// Creates a run that has not begun.
    pub fn new(id: &str, chain: &str, snapshot: &str, trigger: Map, key: Option<String>, at: &str) -> RunState {
        RunState {
            schema_version: SCHEMA_VERSION.to_owned(),
            program: PROGRAM.to_owned(),
            id: id.to_owned(),
            chain: chain.to_owned(),
            snapshot: format!("sha256:{}", snapshot.trim_start_matches("sha256:")),
            status: RunStatus::Queued,
            seq: 0,
            trigger,
            idempotency_key: key,
            context: Map::new(),
            cursor: None,
            branch_taken: None,
            primary_trace: Vec::new(),
            branch_trace: Vec::new(),
            wake_at: None,
            attempt: 1,
            started_at: None,
            reopened_at: None,
            ended_at: None,
            error: None,
            usage: FlowUsage::default(),
            frames: vec![RunFrame { branch: None, prefix: String::new(), index: 0 }],
            tries: 0,
            previous: None,
            wait: None,
            closed_waits: Vec::new(),
            child: None,
            timers: vec![Timer { id: super::timers::STEP.to_owned(), due: at.to_owned(), purpose: super::timers::STEP.to_owned() }],
            created_at: at.to_owned(),
            last_event_at: String::new(),
        }
    }

    /// The attempts of steps, those of branches after the primary ones.
    pub fn attempts(&self) -> impl DoubleEndedIterator<Item = &StepRun> {
        self.primary_trace.iter().chain(&self.branch_trace)
    }

    /// The last attempt of a step.
    pub fn last_attempt(&self, step_id: &str) -> Option<&StepRun> {
        self.attempts().rev().find(|it| it.step_id == step_id)
    }
}
