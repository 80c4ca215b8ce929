//! Dispatches the commands of `convengine` and maps their results to exit codes.

use std::process::ExitCode;

use tokio::runtime::Runtime;

use crate::arguments::{Arguments, AuditCommand, Command, Options};
use crate::exit::Failure;
use crate::observe::log;
use crate::settings::{Logging, Settings};
use crate::store::{self, schema};
use crate::{access, app, audit::materialise, export, forget, import, lint, play, recorded, replay, retention, snapshot};

/// Runs a command and returns its exit code.
pub fn run(arguments: Arguments) -> ExitCode {
    let Arguments { command, options } = arguments;
    let result = match command {
        Command::Serve => served(&options),
        Command::Migrate => within(&options, migrate),
        Command::Import { pack, strict, dry_run, json } => {
            within(&options, async |it| import::command(it, &pack, import::How { strict, dry_run, json }).await)
        }
        Command::Snapshot { command } => within(&options, async |it| snapshot::command(it, command).await),
        Command::Export => within(&options, export::command),
        Command::Lint { pack, json } => within(&options, async |it| lint::command(it, pack.as_deref(), json).await),
        Command::Replay { conversation, config } => {
            within(&options, async |it| replay::command(it, &conversation, config.as_deref()).await)
        }
        Command::Journal { conversation } => within(&options, async |it| recorded::command(it, &conversation).await),
        Command::Forget { conversation, person } => {
            within(&options, async |it| forget::command(it, forget::Whom { conversation, person }).await)
        }
        Command::Retention => within(&options, retention::command),
        Command::Audit { command: AuditCommand::Materialise { from, to } } => {
            within(&options, async |it| materialise::command(it, from.as_deref(), to.as_deref()).await)
        }
        Command::Key { command } => within(&options, async |it| access::command::command(it, &command).await),
        // The player starts its own servers, each with its own runtime and settings.
        Command::Test(test) => {
            log::begin(&Logging::default());
            return play::command(&test);
        }
    };
    result.map_or_else(|it| it.report(), |()| ExitCode::SUCCESS)
}

fn within(options: &Options, command: impl AsyncFnOnce(&Settings) -> Result<(), Failure>) -> Result<(), Failure> {
    on(&Settings::read(options)?.of_tenant(options.tenant.as_deref())?, command)
}

fn served(options: &Options) -> Result<(), Failure> {
    if let Some(name) = &options.tenant {
        return Err(Failure::usage(format!("--tenant {name}: a server serves all tenants; omit the option")));
    }
    on(&Settings::read(options)?, serve)
}

fn on(settings: &Settings, command: impl AsyncFnOnce(&Settings) -> Result<(), Failure>) -> Result<(), Failure> {
    log::begin(&settings.logging);
    let runtime = Runtime::new().map_err(|it| Failure::service(format!("cannot start: {it}")))?;
    let result = runtime.block_on(command(settings));
    runtime.shutdown_background();
    result
}

async fn serve(settings: &Settings) -> Result<(), Failure> {
    let stop = stop_signal().map_err(|it| Failure::service(format!("cannot listen for signals: {it}")))?;
    app::serve(settings, |address| println!("convengine listening on http://{address}"), stop).await
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
    let mut connection = store::connect(&settings.database, true).await?;
    let created = schema::migrate(&mut connection).await.map_err(|it| store::unusable(&settings.database, &it))?;
    println!("created {} tables in {}", created.len(), settings.database.shown());
    Ok(())
}
