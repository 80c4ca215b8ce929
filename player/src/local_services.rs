//! The host services a pack needs even when it is played in the core: a database with its rows and documents, files and extensions.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use convengine_core::pack::{Fakes, Pack};
use convengine_core::turn::{EffectError, EffectErrorKind, EffectResult, MAX_SCRIPT_TIMEOUT_MS, Reply, Request, ToolReply};
use serde::Deserialize;
use serde_json::Value;
use tokio::runtime::Runtime;

use convengine_content::config::import;
use convengine_effects::extension::{self, Extensions};
use convengine_effects::sql::{self, ToolDatabase};
use convengine_effects::{script, tool};
use convengine_host_base::blocking_share::BlockingShare;
use convengine_host_base::exit::Failure;
use convengine_settings::secrets::Secrets;
use convengine_settings::{Roots, files};
use convengine_storage::{self as storage, DatabaseConfig, Pool};

/// The longest time of a script whose node sets none.
const SCRIPT_TIMEOUT: Duration = Duration::from_millis(MAX_SCRIPT_TIMEOUT_MS as u64);

/// Host services of a played pack. The database is created on first use.
pub struct LocalServices {
    pack: Pack,
    fakes: Fakes,
    extensions: Extensions,
    database: Option<TemporaryDatabase>,
}

struct TemporaryDatabase {
    runtime: Runtime,
    folder: PathBuf,
    queries: ToolDatabase,
    readers: Pool,
    roots: Arc<Roots>,
}

impl LocalServices {
    /// Creates the services of a pack.
    pub fn from_pack(pack: &Pack) -> LocalServices {
        let extensions = Extensions::from_modules(pack.modules.clone());
        LocalServices { pack: pack.clone(), fakes: Fakes::from_pack(pack), extensions, database: None }
    }

    /// Answers requests that the pack does not script; `None` for requests that need no host.
    pub fn answer(&mut self, request: &Request) -> Option<EffectResult> {
        let tool = match request {
            Request::Extension(request) => return Some(extension::run(&self.extensions, request)),
            // Of a script the fuel decides, not how fast or busy this machine is.
            Request::Script(request) => return Some(script::run(request, Some(SCRIPT_TIMEOUT))),
            Request::Sql(request) if !self.fakes.has_script(&request.tool_code) => None,
            Request::Tool(request) if request.spec.is_some() && !self.fakes.has_tool(request) => Some(request),
            _ => return None,
        };
        let database = match self.open_database() {
            Ok(database) => database,
            Err(error) => return Some(EffectResult::Error(EffectError::new(EffectErrorKind::Unavailable, format!("{error:#}")))),
        };
        Some(match (request, tool) {
            (Request::Sql(request), _) => database.runtime.block_on(sql::execute(&database.queries, &Secrets::default(), request)),
            (_, Some(request)) => match database.runtime.block_on(tool::execute_by_group(
                &BlockingShare::default(),
                &database.readers,
                &database.roots,
                request,
            )) {
                Ok(text) => EffectResult::Ok(Reply::Tool(ToolReply { text })),
                Err(error) => EffectResult::Error(error),
            },
            (_, None) => return None,
        })
    }

    fn open_database(&mut self) -> Result<&TemporaryDatabase> {
        if self.database.is_none() {
            self.database = Some(TemporaryDatabase::from_pack(&self.pack)?);
        }
        self.database.as_ref().ok_or_else(|| anyhow!("no database"))
    }
}

impl TemporaryDatabase {
    fn from_pack(pack: &Pack) -> Result<TemporaryDatabase> {
        let folder = std::env::temp_dir().join(format!("convengine-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir(&folder)?;
        let failed = |failure: Failure| anyhow!("{}", failure.lines.join("; "));
        let config = DatabaseConfig { url: format!("sqlite:{}", folder.join("play.db").display()), full_sync: false };
        let runtime = Runtime::new()?;
        let mut problems = Vec::new();
        let roots = Arc::new(files::resolve_roots(&file_roots(&pack.settings)?, &mut problems));
        let (queries, readers) = runtime.block_on(async {
            let mut connection = storage::connect_or_create(&config).await.map_err(failed)?;
            import::import_rows(&mut connection, pack).await?;
            Ok::<_, anyhow::Error>((
                ToolDatabase::from_url(&config.url).map_err(failed)?,
                storage::open_reader_pool(&config).await.map_err(failed)?,
            ))
        })?;
        Ok(TemporaryDatabase { runtime, folder, queries, readers, roots })
    }
}

impl Drop for TemporaryDatabase {
    fn drop(&mut self) {
        self.runtime.block_on(async {
            self.queries.close().await;
            self.readers.close().await;
        });
        // Leftovers are removed with the system's temporary files.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Reads `files.roots` of the settings of a pack.
fn file_roots(settings: &Value) -> Result<BTreeMap<String, String>> {
    let roots = settings.pointer("/files/roots").filter(|it| !it.is_null());
    Ok(roots.map(BTreeMap::deserialize).transpose()?.unwrap_or_default())
}
