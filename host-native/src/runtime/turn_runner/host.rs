//! The state that the turns of a server or tenant share.

use std::sync::{Arc, OnceLock};

use convengine_redaction::Redaction;
use tokio::sync::{Notify, broadcast};

use crate::api::mcp::PackPlayer;
use crate::api::stomp::outbox::XhrSessions;
use crate::auth::credential_watch::OpenCredentials;
use crate::auth::known_credentials::{KnownCredentials, LookupLimit};
use crate::auth::rate::RateLimits;
use crate::blocking_share::BlockingShare;
use crate::clock::TurnClock;
use crate::config::active::ConfigManager;
use crate::config::secrets::Secrets;
use crate::config::settings::Plan;
use crate::config::settings::{ChainSettings, Roots, SpendCap, StreamSettings, TurnSettings};
use crate::config::stored_snapshot::StoredSnapshot;
use crate::effects::container::Containers;
use crate::effects::http::HttpClient;
use crate::effects::{llm::Models, mcp::McpClients, sql::ToolDatabase};
use crate::ops::observe::{Meter, SpanSender};
use crate::runtime::assistant::flow_cache::FlowCache;
use crate::runtime::assistant::knowledge::KnowledgeBases;
use crate::runtime::assistant::phrase_vectors::PhraseVectorCache;
use crate::runtime::assistant::secret_store::SecretStore;
use crate::runtime::assistant::session_changes::SessionChange;
use crate::runtime::assistant::timers::FiringSessions;
use crate::runtime::assistant::version_cache::VersionCache;
use crate::runtime::connectivity::Connectivity;
use crate::runtime::journal_writer::OpenTurns;
use crate::runtime::processor_share::ProcessorShare;
use crate::runtime::restate::Ingress;
use crate::runtime::stop_signals::StopSignals;
use crate::runtime::stream::Streams;
use crate::runtime::turn_queue::TurnQueue;
use crate::runtime::writer::Writer;
use crate::storage::Pool;
use crate::storage::server_lock::ServerLock;

/// State shared by the turns of a server or tenant.
#[derive(Debug)]
pub struct Host {
    /// The active configuration.
    pub config_manager: ConfigManager,
    /// Whether the database still has that configuration.
    pub stored_snapshot: StoredSnapshot,
    /// Keeps other servers off the database while the host lives.
    pub server_lock: Option<ServerLock>,
    /// The reader pool.
    pub readers: Pool,
    /// The writers.
    pub writer: Writer,
    /// The time of turns.
    pub clock: TurnClock,
    /// The cluster that runs the turns; absent if this process does.
    pub ingress: Option<Ingress>,
    /// Serializes the turns of each conversation.
    pub turn_queue: Arc<TurnQueue>,
    /// Model providers.
    pub models: Models,
    /// The container service, if configured.
    pub containers: Containers,
    /// The HTTP client for tools and flow nodes.
    pub http: HttpClient,
    /// Connections to MCP servers.
    pub mcp: McpClients,
    /// The database that SQL tools query.
    pub queries: ToolDatabase,
    /// The directories that file tools may read.
    pub file_roots: Arc<Roots>,
    /// Secret values, redacted from all output.
    pub secrets: Arc<Secrets>,
    /// Keeps `secrets` in sync with the database.
    pub secret_store: SecretStore,
    /// Compiled flow documents of sessions.
    pub flows: FlowCache,
    /// Documents of published versions.
    pub versions: VersionCache,
    /// The knowledge bases of assistants.
    pub knowledge: KnowledgeBases,
    /// The embedded phrases of intents.
    pub phrase_vectors: PhraseVectorCache,
    /// The plan's quotas.
    pub plan: Plan,
    /// The share of an AI agent's evals that have to pass before it is published.
    pub eval_pass_threshold: f64,
    /// The workspace of the assistants: the tenant, or `default`.
    pub workspace: String,
    /// Leases and channels of chains.
    pub chain_settings: ChainSettings,
    /// How often secrets are read again for webhooks that none of them has signed.
    pub webhook_lookups: LookupLimit,
    /// The sessions whose timers this process fires now.
    pub firing: FiringSessions,
    /// Stops the turns of runs that are cancelled.
    pub stop_signals: StopSignals,
    /// Whether this process fires the timers of sessions.
    pub fires_timers: bool,
    /// Notified when a session arms a timer.
    pub timer_armed: Notify,
    /// Sessions with a new turn, for clients that wait for one.
    pub session_changes: broadcast::Sender<SessionChange>,
    /// Redaction of incoming messages.
    pub redaction: Arc<Redaction>,
    /// Event streams and their subscribers.
    pub streams: Arc<Streams>,
    /// Sessions of SockJS clients without WebSockets.
    pub xhr_sessions: XhrSessions,
    /// Stream settings.
    pub stream_settings: StreamSettings,
    /// The threads for work that blocks.
    pub blocking: BlockingShare,
    /// The size in bytes that the database may reach, if it is known.
    pub database_capacity: Option<u64>,
    /// Turn settings: journaling, audit, leases and timeouts.
    pub turn_settings: TurnSettings,
    /// The credentials that callers may have.
    pub credentials: KnownCredentials,
    /// The credentials of open streams, sockets and waiting calls.
    pub open_credentials: OpenCredentials,
    /// Rate limits.
    pub rate_limits: RateLimits,
    /// The cap on model cost.
    pub spend_cap: Option<SpendCap>,
    /// The name under which this process owns open turns.
    pub owner: String,
    /// The open turns this process runs.
    pub open_turns: Arc<OpenTurns>,
    /// How much works in the background while users are served.
    pub processor_share: ProcessorShare,
    /// Whether the database can be reached, and turns of others may be claimed.
    pub connectivity: Arc<Connectivity>,
    /// Metrics.
    pub meter: Meter,
    /// The trace exporter.
    pub traces: SpanSender,
    /// Plays packs for authors, where the program has a player.
    pub pack_player: OnceLock<PackPlayer>,
}
