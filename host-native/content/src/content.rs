//! What conversations run on: a part of a host.

use std::sync::Arc;

use convengine_effects::Outbound;
use convengine_host_base::exit::Failure;
use convengine_host_base::meter::Meter;
use convengine_settings::{Plan, Settings, SpendCap};
use convengine_storage::connectivity::Connectivity;
use convengine_storage::server_lock::ServerLock;
use convengine_storage::{self as storage, Connection, Pool};

use crate::config::active::ConfigManager;
use crate::config::stored_snapshot::StoredSnapshot;
use crate::flow_cache::FlowCache;
use crate::knowledge::KnowledgeBases;
use crate::phrase_vectors::PhraseVectorCache;
use crate::secret_store::SecretStore;
use crate::version_cache::VersionCache;

/// The configuration, documents and knowledge of a server or tenant, with what they may cost.
#[derive(Debug)]
pub struct Content {
    /// What reaches other systems.
    pub outbound: Arc<Outbound>,
    /// The reader pool.
    pub readers: Pool,
    /// Keeps other servers off an SQLite file as long as anything here uses it.
    pub server_lock: Option<ServerLock>,
    /// Whether the database can be reached, and turns of others may be claimed.
    pub connectivity: Arc<Connectivity>,
    /// The size in bytes that the database may reach, if it is known.
    pub database_capacity: Option<u64>,
    /// Metrics.
    pub meter: Meter,
    /// The active configuration.
    pub config_manager: ConfigManager,
    /// Whether the database still has that configuration.
    pub stored_snapshot: StoredSnapshot,
    /// Keeps the secret values in sync with the database.
    pub secret_store: SecretStore,
    /// Compiled flow documents of sessions.
    pub flows: FlowCache,
    /// Documents of published versions.
    pub versions: VersionCache,
    /// The knowledge bases of assistants.
    pub knowledge: KnowledgeBases,
    /// The embedded phrases of intents.
    pub phrase_vectors: PhraseVectorCache,
    /// The workspace of the assistants: the tenant, or `default`.
    pub workspace: String,
    /// The plan's quotas.
    pub plan: Plan,
    /// The share of an AI agent's evals that have to pass before it is published.
    pub eval_pass_threshold: f64,
    /// The cap on model cost.
    pub spend_cap: Option<SpendCap>,
}

impl Content {
    /// Loads the configuration and the secrets of a database, of which a server has the lock. Configuration issues go to standard error.
    ///
    /// # Errors
    /// Returns exit code 2 for an invalid configuration, 3 when the database cannot be used.
    pub async fn open(
        settings: &Settings,
        outbound: Arc<Outbound>,
        meter: Meter,
        server_lock: Option<ServerLock>,
        connection: &mut Connection,
    ) -> Result<Content, Failure> {
        let (database, memory) = (&settings.database, settings.assistants.search_memory);
        let unusable = |it: sqlx::Error| storage::database_failure(database, &it);
        let config_manager = ConfigManager::load(connection, database, &settings.tree).await?;
        let knowledge = KnowledgeBases::new(database, connection, &outbound.models, memory).await.map_err(unusable)?;
        let readers = storage::open_sized_pool(database, settings.pool_sizes, meter.clone()).await?;
        let secret_store = SecretStore::open(settings, &readers).await?;
        secret_store.refresh(&readers, &settings.secrets).await.map_err(unusable)?;
        let shortest_lease = settings.turns.lease.min(settings.chains.lease);
        Ok(Content {
            outbound,
            connectivity: Arc::new(Connectivity::new(readers.is_shared(), shortest_lease)),
            readers,
            server_lock,
            database_capacity: settings.database_capacity,
            meter,
            config_manager,
            stored_snapshot: StoredSnapshot::default(),
            secret_store,
            flows: FlowCache::default(),
            versions: VersionCache::default(),
            knowledge,
            phrase_vectors: PhraseVectorCache::new(memory),
            workspace: settings.workspace().to_owned(),
            plan: settings.assistants.plan,
            eval_pass_threshold: settings.assistants.eval_pass_threshold,
            spend_cap: settings.llm.cap,
        })
    }
}
