//! Allow and deny lists of SQL functions: those known to be free of side effects, and those that are always refused.

/// String functions.
const STRING_FUNCTIONS: &str = "\
    ascii bit_length btrim char char_length character_length chr concat concat_ws glob hex initcap instr left length like \
    lower lpad ltrim md5 octet_length position quote regexp_count regexp_instr regexp_like regexp_match regexp_replace \
    regexp_substr replace reverse right rpad rtrim soundex split_part starts_with string_to_array strpos substr substring \
    to_char translate trim typeof unhex unicode upper";

/// Numeric and conditional functions.
const NUMERIC_FUNCTIONS: &str = "\
    abs acos asin atan atan2 cbrt ceil ceiling coalesce cos degrees div exp floor greatest if ifnull iif least likelihood likely \
    ln log log10 log2 max min mod nullif num_nonnulls num_nulls pi pow power radians random round sign sin sqrt tan to_number \
    trunc unlikely width_bucket";

/// Date and time functions.
const TIME_FUNCTIONS: &str = "\
    age clock_timestamp current_date current_time current_timestamp date date_add date_bin date_part date_subtract date_trunc \
    datetime extract isfinite julianday justify_days justify_hours justify_interval localtime localtimestamp make_date \
    make_interval make_time make_timestamp make_timestamptz now statement_timestamp strftime time timediff to_date to_timestamp \
    transaction_timestamp unixepoch";

/// Aggregates and window functions.
const AGGREGATE_FUNCTIONS: &str = "\
    array_agg avg bit_and bit_or bm25 bool_and bool_or corr count covar_pop covar_samp cume_dist dense_rank every first_value \
    group_concat grouping highlight lag last_value lead median mode nth_value ntile percent_rank percentile percentile_cont \
    percentile_disc rank regr_slope row_number snippet stddev stddev_pop stddev_samp string_agg sum total var_pop var_samp \
    variance";

/// JSON and array functions.
const JSON_FUNCTIONS: &str = "\
    array_length array_position array_remove array_to_json array_to_string array_upper cardinality json json_agg json_array \
    json_array_elements json_array_elements_text json_array_length json_build_array json_build_object json_each json_each_text \
    json_error_position json_exists json_extract json_extract_path json_extract_path_text json_group_array json_group_object \
    json_insert json_object json_object_agg json_object_keys json_patch json_pretty json_query json_quote json_remove \
    json_replace json_set json_tree json_type json_typeof json_valid json_value jsonb_agg jsonb_array_elements \
    jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each jsonb_each_text \
    jsonb_extract_path jsonb_extract_path_text jsonb_object_agg jsonb_object_keys jsonb_typeof row_to_json to_json to_jsonb";

/// Other table-valued functions.
const TABLE_FUNCTIONS: &str = "\
    regexp_split_to_table string_to_table unnest";

/// Always refused: they write, wait, read files or other databases, run SQL, reveal details of the server, or allocate as much memory as
/// a caller requests.
const DENIED_FUNCTIONS: &str = "\
    array_fill connectby current_setting currval edit fsdir fts3_tokenizer generate_series http lastval load_extension loread \
    lowrite nextval normal_rand query_to_xml query_to_xml_and_xmlschema query_to_xmlschema randomblob readfile repeat set_config \
    setseed setval sleep ts_rewrite ts_stat txid_current version writefile xmltable xpath_table xslt_process zeroblob zipfile";

/// Name prefixes of functions that are always refused.
const DENIED_PREFIXES: &str = "\
    binary_upgrade brin_ crosstab cursor_to_xml database_to_xml dblink fts5 gin_ http_ inet_ lo_ pg_ pragma_ schema_to_xml \
    sqlite_ table_to_xml";

/// Checks a function by the parts of its name; `None` is a computed part. `safe` restricts it to the allow list.
///
/// # Errors
/// The reason why the function is refused.
pub fn check(name: &[Option<String>], safe: bool) -> Result<(), String> {
    let shown = name.iter().map(|part| part.as_deref().unwrap_or("…")).collect::<Vec<_>>().join(".");
    let function = match name {
        [Some(function)] => function,
        [Some(schema), Some(function)] if schema.eq_ignore_ascii_case("pg_catalog") => function,
        _ => return Err(format!("the function '{shown}' is not allowed: name it without a schema")),
    };
    let function = function.to_lowercase();
    let listed = |names: &str| names.split_whitespace().any(|name| name == function);
    let refused = listed(DENIED_FUNCTIONS) || DENIED_PREFIXES.split_whitespace().any(|it| function.starts_with(it));
    if refused {
        return Err(format!("the function '{shown}' is not allowed: it does more than compute a value"));
    }
    let known =
        [STRING_FUNCTIONS, NUMERIC_FUNCTIONS, TIME_FUNCTIONS, AGGREGATE_FUNCTIONS, JSON_FUNCTIONS, TABLE_FUNCTIONS].into_iter().any(listed);
    if known || !safe {
        return Ok(());
    }
    Err(format!("the function '{shown}' is not allowed: it is not known to have no effect; turn safe_mode off if it is yours"))
}
