//! Dispatches the commands of `convengine` and maps their results to exit codes.

use std::env;
use std::path::Path;
use std::process::ExitCode;

use tokio::runtime;

use convengine_access::{self as access, security_log};
use convengine_content::config::{export, import, json_schema, lint, nlu};
use convengine_content::knowledge::document_process;
use convengine_host::app::{self, Server};
use convengine_host::arguments::{
    Arguments, AuditCommand, ChatArguments, ClusterCommand, Command, KnowledgeCommand, SecretCommand, SnapshotCommand,
};
use convengine_host::dev;
use convengine_host::ops::backup;
use convengine_host::ops::forget;
use convengine_host::ops::journal_export;
use convengine_host::ops::knowledge;
use convengine_host::ops::observe::log;
use convengine_host::ops::replay;
use convengine_host::ops::retention;
use convengine_host::ops::secret;
use convengine_host::ops::snapshot;
use convengine_host::{mcp_stdio, restate};
use convengine_host_base::exit::Failure;
use convengine_host_base::print_line;
use convengine_player::{Chat, play_in_core};
use convengine_project::init;
use convengine_settings::{LoggingSettings, Options, Runtime, Settings};
use convengine_storage::{self as storage, schema};
use convengine_turns::audit::materialise;

/// Runs a command and returns its exit code.
pub fn run(arguments: Arguments) -> ExitCode {
    let Arguments { command, options } = arguments;
    // The program may be replaced while it runs.
    if let Ok(program) = env::current_exe() {
        document_process::use_program(program);
    }
    let result = match command {
        Command::Init { name, kind } => init::run(name.as_deref(), kind),
        Command::Serve { runtime } => run_server(&options, runtime),
        Command::Dev { folder } => run_dev(options, folder.as_deref()),
        Command::Worker => run_worker(&options),
        Command::Cluster { command } => run_cluster(&options, command),
        Command::Migrate => run_with_settings(&options, migrate),
        Command::Import { pack, strict, dry_run, json } => {
            let how = import::ImportOptions { strict, dry_run, json };
            if dry_run {
                run_with_settings(&options, async |it| import::run(it, &pack, how).await)
            } else {
                run_logged(&options, "config.import", &pack.display().to_string(), async |it| import::run(it, &pack, how).await)
            }
        }
        Command::Snapshot { command } => run_snapshot(&options, command),
        Command::Export => run_logged(&options, "config.export", "", export::run),
        Command::Lint { pack, json } => run_lint(options, pack.as_deref(), json),
        Command::Nlu { file, data, json } => nlu::run(&file, data.as_deref(), json),
        Command::Replay { conversation, config } => {
            run_with_settings(&options, async |settings| replay::run(settings, &conversation, config.as_deref()).await)
        }
        Command::Journal { conversation } => {
            // Ids of conversations are not logged, because they are to be gone with them.
            run_logged(&options, "journal.export", "", async |it| journal_export::command(it, &conversation).await)
        }
        Command::Forget { conversation, person } => {
            // Neither are values that name a person.
            let action = if conversation.is_some() { "conversation.delete" } else { "person.forget" };
            run_logged(&options, action, "", async |it| forget::command(it, forget::ForgetTarget { conversation, person }).await)
        }
        Command::Knowledge { command } => run_knowledge(&options, command),
        Command::Retention => run_logged(&options, "retention.sweep", "", retention::run),
        Command::Audit { command: AuditCommand::Materialise { from, to } } => {
            run_with_settings(&options, async |settings| materialise::command(settings, from.as_deref(), to.as_deref()).await)
        }
        Command::Key { command } => run_with_settings(&options, async |it| access::command::run(it, &command).await),
        Command::Secret { command: SecretCommand::Rotate } => run_logged(&options, "secret.rotate", "", secret::rotate),
        Command::Backup { file } => {
            run_logged(&options, "database.backup", &file.display().to_string(), async |it| backup::run(it, &file).await)
        }
        Command::Schema { name } => json_schema::run(&name),
        Command::Mcp => run_with_settings(&options, serve_mcp),
        Command::ReadDocument { format, charset } => return document_process::run(&format, charset),
        Command::Chat(chat) => run_chat(options, &chat),
        // The player starts its own servers, each with its own runtime and settings.
        Command::Test(test) => {
            log::init(&LoggingSettings::default());
            return convengine_player::run_command(&test);
        }
    };
    result.map_or_else(|it| it.report(), |()| ExitCode::SUCCESS)
}

fn run_with_settings(options: &Options, command: impl AsyncFnOnce(&Settings) -> Result<(), Failure>) -> Result<(), Failure> {
    run_on_runtime(&Settings::load(options)?.for_tenant(options.tenant.as_deref())?, command)
}

/// Runs a command that belongs into the security log.
fn run_logged(
    options: &Options,
    action: &'static str,
    subject: &str,
    command: impl AsyncFnOnce(&Settings) -> Result<(), Failure>,
) -> Result<(), Failure> {
    run_with_settings(options, async |it| security_log::run_command(it, action, subject, command).await)
}

fn run_knowledge(options: &Options, command: KnowledgeCommand) -> Result<(), Failure> {
    let (action, subject) = match &command {
        KnowledgeCommand::Add { assistant, .. } => ("knowledge.store", assistant.clone()),
        KnowledgeCommand::Remove { assistant, source } => ("knowledge.delete", format!("{assistant} {source}")),
        KnowledgeCommand::List { .. } | KnowledgeCommand::Search { .. } => {
            return run_with_settings(options, async |it| knowledge::run(it, command).await);
        }
    };
    run_logged(options, action, &subject, async |it| knowledge::run(it, command).await)
}

fn run_snapshot(options: &Options, command: SnapshotCommand) -> Result<(), Failure> {
    let (action, subject) = match &command {
        SnapshotCommand::Activate { hash, dry_run: false, .. } => ("config.activate", hash.clone()),
        SnapshotCommand::Rollback { dry_run: false, .. } => ("config.rollback", String::new()),
        SnapshotCommand::List { .. }
        | SnapshotCommand::Show { .. }
        | SnapshotCommand::Diff { .. }
        | SnapshotCommand::Activate { .. }
        | SnapshotCommand::Rollback { .. } => return run_with_settings(options, async |it| snapshot::run(it, command).await),
    };
    run_logged(options, action, &subject, async |it| snapshot::run(it, command).await)
}

fn run_server(options: &Options, runtime: Runtime) -> Result<(), Failure> {
    run_on_runtime(&load_for_all_tenants(options)?.with_runtime(runtime), serve)
}

/// Runs the server on a folder, with the settings in it. Paths in the settings are relative to the folder.
fn run_dev(options: Options, folder: Option<&Path>) -> Result<(), Failure> {
    if let Some(folder) = folder {
        enter_folder(folder)?;
    }
    let settings = dev::load_settings(options)?;
    run_on_runtime(&settings.clone(), async |_| {
        let stop = stop_signal().map_err(|error| Failure::service_unavailable(format!("cannot listen for signals: {error}")))?;
        dev::run(settings, play_in_core, |address| print_line!("convengine listening on http://{address}"), stop).await
    })
}

/// Lints a file with the settings beside it, with which `dev` would run it, or the database. Paths in them are relative to their folder.
fn run_lint(mut options: Options, file: Option<&Path>, json: bool) -> Result<(), Failure> {
    let parts = file.and_then(|it| Some((it.parent()?, Path::new(it.file_name()?))));
    if let Some((folder, name)) = parts
        && dev::use_settings_of(folder, &mut options)
    {
        enter_folder(folder)?;
        return run_with_settings(&options, async |settings| lint::run(settings, Some(name), json).await);
    }
    run_with_settings(&options, async |settings| lint::run(settings, file, json).await)
}

/// Talks with a file, or with the pack of the folder, with the settings beside it as `lint` and `dev` take them.
fn run_chat(mut options: Options, arguments: &ChatArguments) -> Result<(), Failure> {
    let file = arguments.file.clone().map_or_else(dev::find_pack, Ok)?;
    let chat = Chat::open(&file, arguments)?;
    let folder = file.parent().unwrap_or(Path::new(""));
    if dev::use_settings_of(folder, &mut options) {
        enter_folder(folder)?;
    }
    let settings = Settings::load(&options)?.for_tenant(options.tenant.as_deref())?;
    log::init(&settings.logging);
    chat.run(&settings.tree)
}

fn enter_folder(folder: &Path) -> Result<(), Failure> {
    // A path of one name has no folder but the current one.
    if folder.as_os_str().is_empty() {
        return Ok(());
    }
    env::set_current_dir(folder).map_err(|error| Failure::invalid_usage(format!("cannot use the folder {}: {error}", folder.display())))
}

fn run_worker(options: &Options) -> Result<(), Failure> {
    run_on_runtime(&load_for_all_tenants(options)?, work)
}

fn run_cluster(options: &Options, command: ClusterCommand) -> Result<(), Failure> {
    run_on_runtime(&load_for_all_tenants(options)?, async |it| restate::run_cluster_command(it, command).await)
}

fn load_for_all_tenants(options: &Options) -> Result<Settings, Failure> {
    if let Some(name) = &options.tenant {
        return Err(Failure::invalid_usage(format!("--tenant {name}: a server serves all tenants; omit the option")));
    }
    Settings::load(options)
}

fn run_on_runtime(settings: &Settings, command: impl AsyncFnOnce(&Settings) -> Result<(), Failure>) -> Result<(), Failure> {
    log::init(&settings.logging);
    let runtime = runtime::Runtime::new().map_err(|error| Failure::service_unavailable(format!("cannot start: {error}")))?;
    let result = runtime.block_on(command(settings));
    runtime.shutdown_background();
    result
}

async fn serve(settings: &Settings) -> Result<(), Failure> {
    let stop = stop_signal().map_err(|error| Failure::service_unavailable(format!("cannot listen for signals: {error}")))?;
    app::serve(settings, Server::new(play_in_core), |address| print_line!("convengine listening on http://{address}"), stop).await
}

async fn work(settings: &Settings) -> Result<(), Failure> {
    let stop = stop_signal().map_err(|error| Failure::service_unavailable(format!("cannot listen for signals: {error}")))?;
    restate::run_worker(settings, |address| print_line!("convengine worker listening on http://{address}"), stop).await
}

async fn serve_mcp(settings: &Settings) -> Result<(), Failure> {
    let stop = stop_signal().map_err(|error| Failure::service_unavailable(format!("cannot listen for signals: {error}")))?;
    mcp_stdio::serve(settings, play_in_core, stop).await
}

/// Returns a future that completes at the first SIGTERM or Ctrl-C.
fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

async fn migrate(settings: &Settings) -> Result<(), Failure> {
    let mut connection = storage::connect(&settings.database, true).await?;
    let created = schema::migrate(&mut connection).await.map_err(|it| storage::database_failure(&settings.database, &it))?;
    let noun = if created.len() == 1 { "table" } else { "tables" };
    print_line!("created {} {noun} in {}", created.len(), settings.database.redacted_url());
    Ok(())
}
