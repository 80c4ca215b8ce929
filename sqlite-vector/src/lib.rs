//! Registers `sqlite-vec` with SQLite. The only crate of the workspace with `unsafe` code.

use std::sync::Once;

/// Gives all SQLite connections that this process opens from now on the functions of `sqlite-vec`.
///
/// Further calls do nothing. If SQLite is out of memory, the functions are missing.
pub fn register() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(register_entry_point);
}

#[allow(unsafe_code, reason = "SQLite takes the entry point of an extension as a C function pointer")]
fn register_entry_point() {
    let entry_point = sqlite_vec::sqlite3_vec_init as *const ();
    // SAFETY: the function has the signature of an entry point; `sqlite-vec` declares it without its parameters.
    unsafe {
        libsqlite3_sys::sqlite3_auto_extension(Some(std::mem::transmute::<*const (), EntryPoint>(entry_point)));
    }
}

/// The entry point of an extension, as SQLite calls it.
type EntryPoint = unsafe extern "C" fn(
    *mut libsqlite3_sys::sqlite3,
    *mut *mut std::ffi::c_char,
    *const libsqlite3_sys::sqlite3_api_routines,
) -> std::ffi::c_int;
