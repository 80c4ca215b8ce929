//! Database access: one literal statement per function.
//!
//! A function that returns [`sqlx::Result`], here or above, fails with the error of the database unless its documentation says more,
//! and one that returns [`std::io::Result`] with that of the file system.
//!
//! Reads use small pools, one for each class of work. All turn writes go through the writers of `convengine_turns::writer`.

pub mod activation;
pub mod api_key;
pub mod assistant;
pub mod audit;
pub mod backup;
mod blocking;
pub mod call_log;
mod casts;
pub mod chain;
pub mod checkpoint;
pub mod class_pool;
pub mod classifier;
pub mod commit;
pub mod config;
mod connect;
pub mod connectivity;
pub mod conversations;
pub mod counter;
pub mod credential;
pub mod database;
mod database_config;
mod database_row;
pub mod document;
pub mod feedback;
pub mod forget;
pub mod import;
pub mod inspect;
pub mod kept_connection;
pub mod lease;
pub mod load;
pub mod mcp_tool;
pub mod module;
mod nul;
pub mod owner;
pub mod phrase_vector;
mod postgres;
pub mod repeated_task;
pub mod rows;
pub mod schema;
pub mod script;
pub mod security_log;
pub mod server_lock;
pub mod size;
pub mod snapshot;
pub mod spend;
pub mod sqlite;
pub mod sqlite_error;
mod sqlite_file;
pub mod statement;
pub mod stream;
pub mod turn;
mod turn_row;
pub mod turn_rows;
mod turn_statements;

pub use blocking::run_blocking;
pub use connect::{
    connect, connect_existing, connect_for_dry_run, connect_for_rows, connect_or_create, database_failure, in_memory, open,
    open_reader_pool, open_sized_pool, open_writer, set_brief_timeouts, set_long_timeout, set_timeouts, set_up_writer,
};
pub use database::{Connection, Pool};
pub use database_config::{DatabaseConfig, is_postgres};
pub use statement::bind_json;

#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
