//! Connections of `sqlx` have the functions.

use sqlx::{Connection as _, SqliteConnection};

#[tokio::test]
async fn connections_compute_distances() {
    convengine_sqlite_vector::register();
    convengine_sqlite_vector::register();
    for _ in 0..3 {
        let mut connection = SqliteConnection::connect("sqlite::memory:").await.expect("a database");
        let bytes = |vector: [f32; 2]| vector.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<u8>>();
        let query = sqlx::query_scalar::<_, f64>("select vec_distance_cosine($1, $2)").bind(bytes([1.0, 0.0])).bind(bytes([0.0, 2.0]));
        assert_eq!(query.fetch_one(&mut connection).await.expect("a distance"), 1.0);
    }
}
