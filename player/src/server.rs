//! A server for a pack, with the pack's rows, settings, scripted model and fake HTTP services.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use convengine_core::pack::Pack;
use convengine_core::turn::STUB_ADDRESS;
use tokio::runtime::Runtime;

use super::engine_process::{EngineCommand, EngineProcess};
use super::fake_http::{self, CallRecorder};
use super::local_server::LocalServer;
use super::pack_import::import_pack;
use super::restate::{RestateOptions, RestateRuntime, server_command};
use convengine_host_base::pack_file;

/// A running server. Dropping it ends it at once and deletes its folder.
pub struct PackServer {
    pack: Pack,
    server: RunningServer,
    database: String,
    fake_address: Option<SocketAddr>,
    runtime: Runtime,
    /// What runs the turns, unless the server does.
    restate: Option<RestateRuntime>,
    calls: CallRecorder,
    /// Declared last, because the server writes to it until it has ended.
    _folder: Folder,
}

/// A folder that is deleted when it is dropped.
struct Folder(PathBuf);

/// Where a server runs.
enum RunningServer {
    Here(LocalServer),
    Process(EngineProcess),
}

/// Server options that are not part of the pack.
#[derive(Debug, Clone, Default)]
pub struct ServerOptions {
    /// The URL of an empty database; by default a temporary SQLite file.
    pub database: Option<String>,
    /// Further settings as `KEY=VALUE`.
    pub settings: Vec<String>,
    /// The program that is the server; by default it runs in this process.
    pub program: Option<PathBuf>,
    /// The Restate server that runs the turns; the database is then one of PostgreSQL.
    pub restate: Option<RestateOptions>,
}

impl PackServer {
    /// Imports the pack and starts the server, in this process unless its options name a program.
    ///
    /// # Errors
    /// Returns an error when the pack cannot be imported or the server does not start.
    pub fn start(pack: &Pack, path: &Path, options: &ServerOptions) -> Result<PackServer> {
        let folder = std::env::temp_dir().join(format!("convengine-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir(&folder)?;
        let folder = Folder(folder);
        let database = options.database.clone().unwrap_or_else(|| format!("sqlite:{}", folder.0.join("play.db").display()));
        let runtime = Runtime::new()?;
        let calls = CallRecorder::default();
        let (pack, path, stub) = start_fake_service(pack, path, &folder.0, &runtime, &calls)?;
        import_pack(&runtime, &path, &database).context("cannot import the pack")?;
        let shared = shared_options(&pack, &path, &database, stub, &options.settings);
        let program = options.program.as_deref();
        let start_cluster =
            |cluster| RestateRuntime::start(cluster, program.context("a cluster needs the program of its workers")?, &shared);
        let restate = options.restate.as_ref().map(start_cluster).transpose()?;
        let server = start_server(program, &shared, restate.as_ref())?;
        Ok(PackServer { pack, server, database, fake_address: stub, runtime, restate, calls, _folder: folder })
    }

    /// The pack, with the address of its fake HTTP services.
    pub fn pack(&self) -> &Pack {
        &self.pack
    }

    /// The base URL of the server.
    pub fn address(&self) -> &str {
        match &self.server {
            RunningServer::Here(server) => server.address(),
            RunningServer::Process(process) => process.address(),
        }
    }

    /// The URL of its database.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// The address of the pack's fake HTTP services, if any.
    pub fn fake_address(&self) -> Option<SocketAddr> {
        self.fake_address
    }

    /// The calls of the fake HTTP services.
    pub fn calls(&self) -> &CallRecorder {
        &self.calls
    }

    /// How often the worker that runs the turns was started again.
    pub fn worker_restarts(&self) -> u32 {
        self.restate.as_ref().map_or(0, RestateRuntime::restarts)
    }

    /// The id of the process in which it runs.
    pub fn process_id(&self) -> u32 {
        match &self.server {
            RunningServer::Here(_) => std::process::id(),
            RunningServer::Process(process) => process.process_id().unwrap_or_default(),
        }
    }

    /// Blocks on a future of the server or its database.
    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Best effort: the folder is temporary.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Starts the fake HTTP service of a pack and inserts its address into the pack.
fn start_fake_service(
    pack: &Pack,
    path: &Path,
    folder: &Path,
    runtime: &Runtime,
    calls: &CallRecorder,
) -> Result<(Pack, PathBuf, Option<SocketAddr>)> {
    if pack.http.is_empty() {
        return Ok((pack.clone(), path.to_owned(), None));
    }
    let address = fake_http::serve_recorded(runtime, pack.http.clone(), calls.clone())?;
    let text = pack_file::read_text(path)?.replace(STUB_ADDRESS, &format!("http://{address}"));
    let file = folder.join("pack.json");
    std::fs::write(&file, &text)?;
    Ok((Pack::parse(&text)?, file, Some(address)))
}

/// Returns the options that the server shares with its workers.
fn shared_options(pack: &Pack, path: &Path, database: &str, stub: Option<SocketAddr>, set: &[String]) -> Vec<String> {
    let mut settings: Vec<String> = Vec::new();
    settings.extend(pack.settings.as_object().into_iter().flatten().map(|(group, tree)| format!("convengine.{group}={tree}")));
    settings.extend(stub.map(|it| format!("convengine.network.allow-private={it}")));
    // Talks have their own clock and fire timers themselves.
    settings.push("convengine.assistants.timers=false".to_owned());
    settings.extend_from_slice(set);
    let fixed = ["--database".to_owned(), database.to_owned(), "--llm".to_owned(), format!("scripted:{}", path.display())];
    fixed.into_iter().chain(settings.into_iter().flat_map(|it| ["--set".to_owned(), it])).collect()
}

fn start_server(program: Option<&Path>, options: &[String], restate: Option<&RestateRuntime>) -> Result<RunningServer> {
    const ANY_PORT: &str = "127.0.0.1:0";
    let arguments = || ["serve", "--listen", ANY_PORT].map(str::to_owned).into_iter().chain(options.iter().cloned()).collect::<Vec<_>>();
    let Some(program) = program else { return LocalServer::start(&arguments()).map(RunningServer::Here) };
    let command = match restate {
        Some(restate) => server_command(program, options, ANY_PORT, &restate.ingress_setting(), None),
        None => EngineCommand { program: program.to_owned(), arguments: arguments(), log: None },
    };
    EngineProcess::start(command).map(RunningServer::Process)
}
