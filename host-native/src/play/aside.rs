//! The host services a pack needs even when it is played in the core: a database with its rows and documents, files and extensions.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use convengine_core::config::settings::normalise;
use convengine_core::pack::{Pack, StandIns};
use convengine_core::turn::{Answer, EffectError, EffectErrorKind, Reply, Request, ToolReply};
use tokio::runtime::Runtime;

use crate::exit::Failure;
use crate::extension::{self, Extensions};
use crate::fulfil::sql::{self, Queries};
use crate::fulfil::tool;
use crate::import;
use crate::secrets::Secrets;
use crate::settings::{Roots, files};
use crate::store::{self, Place, Pool};

/// Host services of a played pack. The database is created on first use.
pub struct Aside {
    pack: Pack,
    stand_ins: StandIns,
    extensions: Extensions,
    database: Option<Database>,
}

struct Database {
    runtime: Runtime,
    folder: PathBuf,
    queries: Queries,
    readers: Pool,
    roots: Arc<Roots>,
}

impl Aside {
    /// Creates the services of a pack.
    pub fn of(pack: &Pack) -> Aside {
        let extensions = Extensions::of(pack.modules.clone());
        Aside { pack: pack.clone(), stand_ins: StandIns::of(pack), extensions, database: None }
    }

    /// Answers requests that the pack does not script; `None` for requests that need no host.
    pub fn answer(&mut self, request: &Request) -> Option<Answer> {
        let tool = match request {
            Request::Extension(request) => return Some(extension::run(&self.extensions, request)),
            Request::Sql(request) if !self.stand_ins.has_script(&request.tool_code) => None,
            Request::Tool(request) if request.spec.is_some() && !self.stand_ins.has_tool(request) => Some(request),
            _ => return None,
        };
        let database = match self.open() {
            Ok(database) => database,
            Err(error) => return Some(Answer::Error(EffectError::new(EffectErrorKind::Unavailable, format!("{error:#}")))),
        };
        Some(match (request, tool) {
            (Request::Sql(request), _) => database.runtime.block_on(sql::answer(&database.queries, &Secrets::default(), request)),
            (_, Some(request)) => match database.runtime.block_on(tool::of_group(&database.readers, &database.roots, request)) {
                Ok(text) => Answer::Ok(Reply::Tool(ToolReply { text })),
                Err(error) => Answer::Error(error),
            },
            (_, None) => return None,
        })
    }

    fn open(&mut self) -> Result<&Database> {
        if self.database.is_none() {
            self.database = Some(Database::of(&self.pack)?);
        }
        self.database.as_ref().ok_or_else(|| anyhow!("no database"))
    }
}

impl Database {
    fn of(pack: &Pack) -> Result<Database> {
        let folder = std::env::temp_dir().join(format!("convengine-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir(&folder)?;
        let failed = |it: Failure| anyhow!("{}", it.lines.join("; "));
        let config = Place { url: format!("sqlite:{}", folder.join("play.db").display()), full_sync: false };
        let runtime = Runtime::new()?;
        let mut problems = Vec::new();
        let roots = Arc::new(files::read(&normalise(&pack.settings), &mut problems));
        let (queries, readers) = runtime.block_on(async {
            let mut connection = store::connect_ready(&config).await.map_err(failed)?;
            import::rows(&mut connection, pack).await?;
            Ok::<_, anyhow::Error>((Queries::at(&config.url).map_err(failed)?, store::readers(&config).await.map_err(failed)?))
        })?;
        Ok(Database { runtime, folder, queries, readers, roots })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.runtime.block_on(async {
            self.queries.close().await;
            self.readers.close().await;
        });
        // Leftovers are removed with the system's temporary files.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
