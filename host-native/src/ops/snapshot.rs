//! `convengine snapshot`: lists, compares and restores earlier configurations.
//!
//! A snapshot contains the rows of the tables that turns depend on, including disabled ones, without their creation times, and the settings
//! that affect turns. It does not contain documents, fakes or modules; activating a snapshot leaves those unchanged.

use std::collections::BTreeMap;

use convengine_content::config::export::{PackMember, render};
use convengine_content::config::snapshot::{ConfigState, Difference, RestoreError, RestoreTarget, find_snapshot, hash_rows, restore_rows};
use convengine_host_base::clock;
use convengine_host_base::exit::Failure;
use convengine_host_base::output::print_text;
use convengine_host_base::{print_error_line, print_line};
use convengine_settings::Settings;
use convengine_storage::{self as storage, Connection, import, snapshot};
use serde_json::{Value, json};

use crate::arguments::SnapshotCommand;

/// Runs the command.
///
/// # Errors
/// Exit code 1 if there is no such snapshot or its rows cannot be restored; 3 if the database cannot be used.
pub async fn run(settings: &Settings, command: SnapshotCommand) -> Result<(), Failure> {
    let mut connection = storage::connect_existing(&settings.database).await?;
    let done = match command {
        SnapshotCommand::List { json } => list(&mut connection, settings, json).await,
        SnapshotCommand::Show { hash } => show(&mut connection, &hash).await,
        SnapshotCommand::Diff { hash, other, json } => diff(&mut connection, &hash, other.as_deref(), json).await,
        SnapshotCommand::Activate { hash, dry_run, json } => {
            activate(&mut connection, settings, &RestoreTarget::Snapshot(hash), dry_run, json).await
        }
        SnapshotCommand::Rollback { dry_run, json } => activate(&mut connection, settings, &RestoreTarget::Previous, dry_run, json).await,
    };
    done.map_err(|it| it.into_failure(settings))
}

async fn list(connection: &mut Connection, settings: &Settings, json: bool) -> Result<(), RestoreError> {
    connection.begin_read().await?;
    let present = ConfigState::read(connection, &settings.tree).await?;
    let ran: BTreeMap<String, snapshot::SnapshotUsage> =
        snapshot::list_usage(connection).await?.into_iter().map(|it| (it.hash.clone(), it)).collect();
    let mut all = Vec::new();
    for snapshot::Snapshot { hash, stored_at: kept_at } in snapshot::list(connection).await? {
        let source = snapshot::find_content(connection, &hash).await?.unwrap_or_default();
        // Servers may have other settings than this command, so only the rows are compared.
        let active = hash_rows(&source) == present.rows_hash;
        let (turns, conversations) = ran.get(&hash).map_or((0, 0), |it| (it.turns, it.conversations));
        let at = clock::format_iso(kept_at);
        all.push(json!({"hash": hash, "keptAt": at, "active": active, "turns": turns, "conversations": conversations}));
    }
    if json {
        print_line!("{}", Value::Array(all));
        return Ok(());
    }
    for it in &all {
        let text = |name: &str| it[name].as_str().unwrap_or_default();
        let mark = if it["active"] == true { " active" } else { "" };
        print_line!("{} {} turns {} conversations {}{mark}", text("hash"), text("keptAt"), it["turns"], it["conversations"]);
    }
    Ok(())
}

async fn load_snapshot(connection: &mut Connection, digits: &str) -> Result<(String, Value), RestoreError> {
    let hash = find_snapshot(connection, digits).await?;
    let found = snapshot::find_content(connection, &hash).await?;
    let unreadable = || RestoreError::UnknownSnapshot(format!("snapshot {hash} cannot be read; choose another one"));
    found.ok_or_else(unreadable).map(|it| (hash, it))
}

/// Prints a snapshot as a pack.
async fn show(connection: &mut Connection, digits: &str) -> Result<(), RestoreError> {
    let (hash, source) = load_snapshot(connection, digits).await?;
    let state = ConfigState::from_snapshot(&source);
    let about = format!("The configuration {hash}, without documents, scripted answers and modules.");
    let pack = [
        ("name", PackMember::Value(json!("snapshot"))),
        ("about", PackMember::Value(json!(about))),
        ("settings", PackMember::Value(state.settings)),
        ("tables", PackMember::Tables(state.tables.into_iter().collect())),
    ];
    print_text(format_args!("{}", render(&pack)));
    Ok(())
}

async fn diff(connection: &mut Connection, digits: &str, other: Option<&str>, json: bool) -> Result<(), RestoreError> {
    connection.begin_read().await?;
    let (_, source) = load_snapshot(connection, digits).await?;
    let before = ConfigState::from_snapshot(&source);
    let after = match other {
        Some(digits) => ConfigState::from_snapshot(&load_snapshot(connection, digits).await?.1),
        // Compiled with the snapshot's settings, because the command does not know those of the servers.
        None => ConfigState::compile(&storage::config::load_tables(connection).await?, &before.settings),
    };
    Difference::between(&before, &after).print(json);
    Ok(())
}

async fn activate(
    connection: &mut Connection,
    settings: &Settings,
    wanted: &RestoreTarget,
    dry: bool,
    json: bool,
) -> Result<(), RestoreError> {
    import::disable_foreign_keys(connection).await?;
    connection.begin().await?;
    let done = restore_rows(connection, &settings.tree, wanted, None).await?;
    if dry {
        connection.rollback().await?;
        done.difference.print(json);
        return Ok(());
    }
    done.commit(connection).await?;
    done.settings.iter().for_each(|setting| {
        print_error_line!(
            "warning {}: was {} when the snapshot was made and is {} here; activating a snapshot does not change settings",
            setting.path,
            setting.values.old,
            setting.values.new
        );
    });
    done.issues.iter().for_each(|it| print_error_line!("{it}"));
    if json {
        done.difference.print(true);
    } else {
        print_line!("activated {}", done.hash);
    }
    Ok(())
}
