//! What turns share: a part of a host.

use std::sync::Arc;

use convengine_access::TenantAccess;
use convengine_content::Content;
use convengine_effects::Outbound;
use convengine_host_base::clock::TurnClock;
use convengine_host_base::meter::Meter;
use convengine_host_base::processor_share::ProcessorShare;
use convengine_settings::{ChainSettings, Settings, StreamSettings, TurnSettings};
use convengine_storage::connectivity::Connectivity;
use convengine_storage::{Connection, Pool};
use tokio::sync::{Notify, broadcast};
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::TurnCluster;
use crate::journal_writer::OpenTurns;
use crate::observe::SpanSender;
use crate::session_changes::SessionChange;
use crate::stop_signals::StopSignals;
use crate::stream::Streams;
use crate::timers::FiringSessions;
use crate::turn_queue::TurnQueue;
use crate::writer::Writer;

/// The number of session changes that a waiting client may fall behind.
const SESSION_CHANGES: usize = 256;

/// State shared by the turns of a server or tenant.
#[derive(Debug)]
pub struct Turns {
    /// What conversations run on.
    pub content: Arc<Content>,
    /// What reaches other systems.
    pub outbound: Arc<Outbound>,
    /// What is known of callers.
    pub access: Arc<TenantAccess>,
    /// The reader pool.
    pub readers: Pool,
    /// Whether the database can be reached, and turns of others may be claimed.
    pub connectivity: Arc<Connectivity>,
    /// Metrics.
    pub meter: Meter,
    /// The trace exporter.
    pub traces: SpanSender,
    /// The writers.
    pub writer: Writer,
    /// The time of turns.
    pub clock: TurnClock,
    /// The cluster that runs the turns; absent if this process does.
    pub cluster: Option<Box<dyn TurnCluster>>,
    /// Serializes the turns of each conversation.
    pub queue: Arc<TurnQueue>,
    /// Turn settings: journaling, audit, leases and timeouts.
    pub settings: TurnSettings,
    /// Leases and channels of chains.
    pub chain_settings: ChainSettings,
    /// Stream settings.
    pub stream_settings: StreamSettings,
    /// Event streams and their subscribers.
    pub streams: Arc<Streams>,
    /// Sessions with a new turn, for clients that wait for one.
    pub session_changes: broadcast::Sender<SessionChange>,
    /// The sessions whose timers this process fires now.
    pub firing: FiringSessions,
    /// Whether this process fires the timers of sessions.
    pub fires_timers: bool,
    /// Notified when a session arms a timer.
    pub timer_armed: Notify,
    /// Stops the turns of runs that are cancelled.
    pub stop_signals: StopSignals,
    /// The name under which this process owns open turns.
    pub owner: String,
    /// The open turns this process runs.
    pub open_turns: Arc<OpenTurns>,
    /// How much works in the background while users are served.
    pub processor_share: ProcessorShare,
}

impl Turns {
    /// Starts the writers of a database, of which `connection` becomes one. No turn runs yet.
    ///
    /// Returns the writers' task, too, which ends when the turns are dropped.
    pub fn start(
        settings: &Settings,
        content: Arc<Content>,
        access: Arc<TenantAccess>,
        traces: SpanSender,
        cluster: Option<Box<dyn TurnCluster>>,
        connection: Connection,
    ) -> (Arc<Turns>, JoinHandle<()>) {
        let meter = content.meter.clone();
        let (writer, writer_task) = Writer::start(connection, &settings.database, &meter);
        let turns = Arc::new(Turns {
            outbound: Arc::clone(&content.outbound),
            readers: content.readers.clone(),
            connectivity: Arc::clone(&content.connectivity),
            content,
            access,
            traces,
            writer,
            clock: TurnClock::new(settings.tenant.is_some()),
            cluster,
            queue: Arc::new(TurnQueue::new(settings.turns.max_duration, settings.turns.max_background, meter.clone())),
            settings: settings.turns,
            chain_settings: settings.chains.clone(),
            stream_settings: settings.stream.clone(),
            streams: Arc::new(Streams::new(meter.clone())),
            meter,
            session_changes: broadcast::Sender::new(SESSION_CHANGES),
            firing: FiringSessions::default(),
            fires_timers: settings.assistants.timers,
            timer_armed: Notify::new(),
            stop_signals: StopSignals::default(),
            owner: Uuid::new_v4().to_string(),
            open_turns: Arc::default(),
            processor_share: ProcessorShare::default(),
        });
        turns.streams.attach(&turns);
        (turns, writer_task)
    }
}
