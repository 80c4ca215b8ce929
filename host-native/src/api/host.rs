//! A server, or a tenant of one, in four parts: functions take the part that they need.

use std::sync::{Arc, OnceLock};

use convengine_access::TenantAccess;
use convengine_content::Content;
use convengine_effects::Outbound;
use convengine_effects::llm::Models;
use convengine_host_base::exit::Failure;
use convengine_host_base::meter::Meter;
use convengine_settings::{Runtime, Settings};
use convengine_storage as storage;
use convengine_storage::server_lock::ServerLock;
use convengine_turns::TurnCluster;
use convengine_turns::Turns;
use convengine_turns::observe::SpanSender;
use tokio::task::JoinHandle;

use crate::api::mcp::PackPlayer;
use crate::api::stomp::outbox::XhrSessions;
use crate::turn_cluster;

/// The state that the handlers of a server or tenant share.
#[derive(Debug)]
pub struct Host {
    /// Runs turns.
    pub turns: Arc<Turns>,
    /// What conversations run on.
    pub content: Arc<Content>,
    /// What reaches other systems.
    pub outbound: Arc<Outbound>,
    /// What is known of callers.
    pub access: Arc<TenantAccess>,
    /// Sessions of SockJS clients without WebSockets.
    pub xhr_sessions: XhrSessions,
    /// Plays packs for authors, where the program has a player.
    pub pack_player: OnceLock<PackPlayer>,
}

impl Host {
    /// Builds a host: database, configuration and models. Configuration issues go to standard error.
    ///
    /// Returns the host and the writer's task, which ends when the turns are dropped.
    ///
    /// # Errors
    /// Returns exit code 2 for invalid settings or configuration, 3 when the database cannot be used.
    pub async fn start(settings: &Settings, traces: SpanSender) -> Result<(Arc<Host>, JoinHandle<()>), Failure> {
        convengine_host_base::crypto::install_crypto_provider();
        let database = &settings.database;
        let meter = Meter::for_tenant(settings.tenant.as_deref());
        meter.create_counters();
        let models = Models::new(&settings.llm, Arc::clone(&settings.secrets))?.with_meter(meter.clone());
        let mut connection = storage::connect_or_create(database).await?;
        // Once the file exists, and before anything in it is changed.
        let server_lock = ServerLock::acquire(database)?;
        database.report_loose_files();
        let outbound = Arc::new(Outbound::new(settings, models)?);
        let content = Arc::new(Content::open(settings, Arc::clone(&outbound), meter, server_lock, &mut connection).await?);
        let access = TenantAccess::read(settings, &content.readers).await;
        let access = Arc::new(access.map_err(|it| storage::database_failure(database, &it))?);
        let cluster = find_cluster(settings)?;
        let (turns, writer_task) = Turns::start(settings, Arc::clone(&content), Arc::clone(&access), traces, cluster, connection);
        let (xhr_sessions, pack_player) = (XhrSessions::default(), OnceLock::new());
        Ok((Arc::new(Host { turns, content, outbound, access, xhr_sessions, pack_player }), writer_task))
    }
}

/// Returns the cluster that runs the turns, unless this process does.
fn find_cluster(settings: &Settings) -> Result<Option<Box<dyn TurnCluster>>, Failure> {
    if settings.runtime == Runtime::Database {
        return Ok(None);
    }
    if !settings.database.is_postgres() {
        let reason = "--runtime restate: the workers need the database, too; use --database postgres://…";
        return Err(Failure::invalid_usage(reason.to_owned()));
    }
    let found = turn_cluster::find_cluster(settings)?;
    let missing = || Failure::invalid_usage("--runtime restate: set convengine.restate.ingress to the addresses of the cluster".to_owned());
    found.ok_or_else(missing).map(Some)
}
