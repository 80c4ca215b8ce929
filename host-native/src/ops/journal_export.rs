//! `convengine journal`: exports the journals of a conversation for replay elsewhere.
//!
//! Each configuration is exported as a pack that compiles to its hash, so that a replay reproduces the stored state hashes.

use std::collections::BTreeMap;

use convengine_core::config::{Config, Tables};
use convengine_core::pack::Pack;
use convengine_core::turn::Map;
use convengine_host_base::uuid_text::parse_uuid;
use serde_json::{Value, json};

use convengine_content::config::export;
use convengine_host_base::exit::Failure;
use convengine_host_base::print_line;
use convengine_settings::Settings;
use convengine_storage::run_blocking;
use convengine_storage::turn::{StoredTurn, decompress};
use convengine_storage::{self as storage, Pool, config, module, turn};

/// Runs the command.
///
/// # Errors
/// Returns exit code 1 when the conversation has no journals, 3 when the database cannot be used.
pub async fn command(settings: &Settings, conversation: &str) -> Result<(), Failure> {
    let (pool, id, turns) = load_turns(settings, conversation).await?;
    let all = export_turns(&pool, &id, turns).await.map_err(|it| storage::database_failure(&settings.database, &it))?;
    print_line!("{all}");
    Ok(())
}

/// Loads the ended turns of a conversation. Returns the reader pool, the normalized conversation id and the turns.
///
/// # Errors
/// Returns exit code 1 when there are none, 3 when the database cannot be used.
pub async fn load_turns(settings: &Settings, conversation: &str) -> Result<(Pool, String, Vec<StoredTurn>), Failure> {
    let not_right = |line: String| Failure::check_failed(vec![line]);
    let Some(id) = parse_uuid(conversation) else {
        return Err(not_right(format!("'{conversation}' is not a conversation id; use a UUID")));
    };
    drop(storage::connect(&settings.database, false).await?);
    let pool = storage::open_reader_pool(&settings.database).await?;
    let turns = turn::list_ended(&pool, &id).await.map_err(|it| storage::database_failure(&settings.database, &it))?;
    if turns.is_empty() {
        let database = settings.database.redacted_url();
        return Err(not_right(format!("conversation {id} has no journals in '{database}'; check the id and --database")));
    }
    Ok((pool, id, turns))
}

/// Returns the journals of turns and their configurations by hash. Missing configurations are omitted; unreadable journals are null.
pub async fn export_turns(pool: &Pool, conversation: &str, turns: Vec<StoredTurn>) -> sqlx::Result<Value> {
    let mut configs = Map::new();
    for hash in turns.iter().map(|it| &it.config_hash) {
        if configs.contains_key(hash) {
            continue;
        }
        if let Some(source) = config::find_snapshot(pool, hash).await? {
            configs.insert(hash.clone(), snapshot_pack(pool, hash.clone(), source).await?);
        }
    }
    let conversation = conversation.to_owned();
    run_blocking(move || {
        let turns: Vec<Value> = turns.iter().map(export_turn).collect();
        json!({"conversationId": conversation, "turns": turns, "configs": configs})
    })
    .await
}

fn export_turn(turn: &StoredTurn) -> Value {
    json!({
        "number": turn.number,
        "turnId": turn.turn_id,
        "status": turn.status,
        "config": turn.config_hash,
        "stateHash": turn.state_hash,
        "journal": decompress(&turn.journal).ok(),
    })
}

/// Returns the pack of a snapshot, with the stored modules of its extensions.
async fn snapshot_pack(pool: &Pool, hash: String, source: Value) -> sqlx::Result<Value> {
    let modules = match source.pointer("/tables/cv_extension") {
        Some(_) => module::load_for_snapshot(pool, &hash).await?,
        None => BTreeMap::new(),
    };
    if modules.is_empty() {
        return Ok(plain_pack(&hash, &source));
    }
    run_blocking(move || {
        let mut pack = plain_pack(&hash, &source);
        let Ok(mut tables) = serde_json::from_value::<Tables>(pack["tables"].take()) else { return plain_pack(&hash, &source) };
        pack["extensions"] = json!(export::take_extensions(&mut tables, &modules));
        pack["tables"] = json!(tables);
        // Exporting a module rewrites a handwritten manifest and would change the hash; then export without the module.
        if pack_hash(&pack) == Some(hash.clone()) { pack } else { plain_pack(&hash, &source) }
    })
    .await
}

/// Returns a pack with the rows and settings of a snapshot.
fn plain_pack(hash: &str, source: &Value) -> Value {
    json!({
        "name": "recorded",
        "about": format!("The configuration {hash}, without documents and scripted answers."),
        "settings": source.get("settings"),
        "tables": source.get("tables"),
    })
}

fn pack_hash(pack: &Value) -> Option<String> {
    let pack = Pack::parse(&pack.to_string()).ok()?;
    Some(Config::compile(&pack.tables, &pack.settings).0.hash_source().to_owned())
}

#[cfg(test)]
mod tests {
    use convengine_storage::config::store_snapshot;
    use convengine_storage::testing::each_database;

    use super::*;

    #[tokio::test]
    async fn a_pack_has_the_hash_of_its_snapshot_however_its_manifests_are_written() {
        let text = json!({"name": "n", "extensions": {"fee": {"wasm": "AGFzbQ==", "requests": ["tool"]}}}).to_string();
        let ours = Pack::parse(&text).expect("a pack");
        let mut other = ours.clone();
        other.tables.0.get_mut("cv_extension").expect("the rows")[0].insert("requests".to_owned(), json!("[ \"tool\" ]"));
        for mut database in each_database().await {
            for (pack, comes_along) in [(&ours, true), (&other, false)] {
                let (config, _) = Config::compile(&pack.tables, &json!({"flow": {"queryRewrite": {"enabled": false}}}));
                let hash = config.hash_source().to_owned();
                store_snapshot(&mut database.connection, &hash, &config.source(), 1).await.expect("kept");
                for (sha256, bytes) in &pack.modules {
                    module::insert_if_absent(&mut database.connection, sha256, bytes).await.expect("kept");
                }
                let found = snapshot_pack(&database.pool, hash.clone(), config.source().into_owned()).await.expect("a pack");
                assert_eq!(pack_hash(&found), Some(hash), "{found}");
                assert_eq!(found["extensions"]["fee"]["wasm"] == "AGFzbQ==", comes_along, "{found}");
            }
        }
    }
}
