//! Test databases, one of each kind, deleted when the test ends.

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tempfile::TempDir;
use tokio::sync::OnceCell;
use uuid::Uuid;

use super::class_pool::PoolSizes;
use super::connect::{connect_or_create, open, open_reader_pool};
use super::database::{Connection, Pool};
use super::database_config::DatabaseConfig;
use super::statement::{SqlValue, Statement};
use convengine_host_base::work_class::WorkClass;

/// A test database with our tables.
pub struct Database {
    /// How to open it.
    pub config: DatabaseConfig,
    /// A writable connection.
    pub connection: Connection,
    /// The reader pool.
    pub pool: Pool,
    _folder: TempDir,
}

impl Connection {
    /// The SQLite connection, for tests that need SQLite.
    pub fn sqlite(&mut self) -> &mut sqlx::SqliteConnection {
        match self {
            Connection::Sqlite(connection) => connection,
            Connection::LocalSqlite(_) | Connection::Postgres(_) => panic!("the test is about SQLite and sqlx"),
        }
    }
}

/// Creates one database of each kind.
pub async fn each_database() -> Vec<Database> {
    vec![sqlite().await, postgres().await]
}

/// Creates an SQLite database: a copy of one that is migrated once.
pub async fn sqlite() -> Database {
    let folder = tempfile::tempdir().expect("a folder");
    let config = sqlite_config(&folder);
    config.create_sqlite_file().expect("a file");
    std::fs::write(folder.path().join(FILE), sqlite_template().await).expect("a copy");
    open_database(config, folder).await
}

/// Creates a database on the PostgreSQL test server: a copy of one that is migrated once.
pub async fn postgres() -> Database {
    let url = create_on_postgres(Some(postgres_template().await)).await;
    open_database(DatabaseConfig { url, full_sync: false }, tempfile::tempdir().expect("a folder")).await
}

/// Creates an empty database on the PostgreSQL test server and returns its URL.
pub async fn empty_postgres() -> String {
    create_on_postgres(None).await
}

/// The name of the file of an SQLite database.
const FILE: &str = "test.db";

fn sqlite_config(folder: &TempDir) -> DatabaseConfig {
    DatabaseConfig { url: format!("sqlite:{}", folder.path().join(FILE).display()), full_sync: false }
}

/// Returns the bytes of an SQLite file with our tables.
async fn sqlite_template() -> &'static [u8] {
    static TEMPLATE: OnceCell<Vec<u8>> = OnceCell::const_new();
    let migrate = async || {
        let folder = tempfile::tempdir().expect("a folder");
        // When its only connection is closed, the log is written into the file.
        connect_or_create(&sqlite_config(&folder)).await.expect("our tables").close().await.expect("a closed connection");
        std::fs::read(folder.path().join(FILE)).expect("the file")
    };
    TEMPLATE.get_or_init(migrate).await
}

/// Returns the name of a database with our tables on the PostgreSQL test server, which is deleted with the server.
async fn postgres_template() -> &'static str {
    static TEMPLATE: OnceCell<String> = OnceCell::const_new();
    let migrate = async || {
        let url = create_on_postgres(None).await;
        let name = url.rsplit('/').next().unwrap_or_default().to_owned();
        connect_or_create(&DatabaseConfig { url, full_sync: false }).await.expect("our tables").close().await.expect("a closed connection");
        name
    };
    TEMPLATE.get_or_init(migrate).await
}

async fn create_on_postgres(template: Option<&str>) -> String {
    let server = std::env::var("CONVENGINE_TEST_POSTGRES")
        .expect("a PostgreSQL server for the tests: run them as `cargo xtask postgres -- cargo test …`");
    let name = format!("unit_{}", Uuid::new_v4().simple());
    let mut connection = PgConnection::connect(&format!("{server}/postgres")).await.expect("the server of the tests");
    let create = format!("create database {name} template {} strategy file_copy", template.unwrap_or("template0"));
    sqlx::query(AssertSqlSafe(create)).execute(&mut connection).await.expect("a new database");
    format!("{server}/{name}")
}

async fn open_database(config: DatabaseConfig, folder: TempDir) -> Database {
    let connection = connect_or_create(&config).await.expect("a database with our tables");
    let pool = open_reader_pool(&config).await.expect("a pool");
    Database { config, connection, pool, _folder: folder }
}

impl Pool {
    /// Takes all connections of the current class until what is returned is dropped.
    pub async fn hold_all_for_test(&self) -> Vec<Box<dyn std::any::Any>> {
        let mut held: Vec<Box<dyn std::any::Any>> = Vec::new();
        for _ in 0..PoolSizes::default().for_class(WorkClass::current()) {
            match self {
                Pool::Sqlite(pool, _) => held.push(Box::new(pool.acquire().await.expect("a connection"))),
                Pool::Postgres(pool, _) => held.push(Box::new(pool.acquire().await.expect("a connection"))),
            }
        }
        held
    }

    /// Executes a statement of a test.
    pub async fn execute_for_test(&self, statement: &Statement, values: &[SqlValue<'_>]) -> sqlx::Result<u64> {
        self.execute(statement, values).await
    }
}

/// Takes away what the migrations after the last unversioned release add, and the table of versions.
pub async fn revert_to_unversioned(connection: &mut Connection) {
    for sql in [
        "drop table cv_security_log",
        "drop table cv_conversation_owner",
        "drop table cs_deployment_token",
        "drop table cs_counter",
        "alter table cs_secret drop column key_id",
        "alter table cv_api_key drop column owner_claim",
        "alter table cs_timer drop column claimed_until",
        "alter table cs_chain drop column claimed_until",
        "alter table cs_chain drop column failures",
        "alter table cs_chain drop column waits",
        "alter table ce_turn drop column answer",
        "alter table cs_knowledge_source drop column unreadable_characters",
        "alter table cs_knowledge_source drop column unreadable_pages",
        "drop index idx_ce_config_snapshot_used",
        "alter table ce_config_snapshot drop column used_at",
        "drop table cv_migration",
    ] {
        connection.execute(&Statement::portable(sql), &[]).await.expect(sql);
    }
}

/// Locks the row of a turn on PostgreSQL, as another transaction does, until the connection's transaction ends.
pub async fn lock_turn(config: &DatabaseConfig, turn: &str) -> Connection {
    let mut other_transaction = open(config, false).await.expect("a connection");
    other_transaction.begin().await.expect("a transaction");
    let lock = Statement::portable("select 1 from ce_turn where turn_id = $1::uuid for update");
    other_transaction.fetch_all(&lock, &[SqlValue::Text(turn)]).await.expect("a lock");
    other_transaction
}
