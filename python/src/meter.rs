//! The meter of the instance, which the build adds to the module: it counts calls and iterations, and stops the instance at its limit.

#[allow(unsafe_code, reason = "imports are declared so; these are safe to call")]
mod imports {
    // The build replaces these imports by functions that access the meter.
    #[link(wasm_import_module = "meter")]
    unsafe extern "C" {
        pub safe fn fuel_used() -> u64;
        pub safe fn limit_fuel(total: u64);
        pub safe fn is_exhausted() -> u32;
    }
}

/// Returns the fuel used so far.
pub fn fuel_used() -> u64 {
    imports::fuel_used()
}

/// Stops the instance, by a trap, after it has used this much fuel more.
pub fn allow_fuel(more: u64) {
    imports::limit_fuel(fuel_used().saturating_add(more));
}

/// Returns whether the instance was stopped at its limit.
pub fn is_exhausted() -> bool {
    imports::is_exhausted() != 0
}
