// Vector add from Rust, with the few declarations of tile.h that it needs and no crate:
//   rustc -O examples/rust/vector_add.rs -L build/release/lib -ltile
//   LD_LIBRARY_PATH=build/release/lib ./vector_add [cpu|cuda:N] [examples/vector_add.tile]
use std::ffi::{c_char, c_void, CStr, CString};
use std::ptr::{null, null_mut};

#[repr(C)]
struct Error {
    status: i32,
    message: [c_char; 512],
    log: *mut c_char,
}

/// tile_arg; `value` is a union there. All of its members are 8 bytes, so this has its layout.
#[repr(C)]
struct Arg {
    name: *const c_char,
    kind: i32,
    constexpr_kind: i32,
    dtype: *const c_char,
    value: u64,
}

/// tile_launch_options up to `stream`: the library reads as much as `size` says.
#[repr(C)]
struct Options {
    size: usize,
    grid: [u32; 3],
    num_warps: u32,
    num_ctas: u32,
    num_stages: u32,
    maxnreg: u32,
    stream: *mut c_void,
}

type Handle = *mut c_void;
#[link(name = "tile")]
extern "C" {
    fn tile_device_open(name: *const c_char, out: *mut Handle, error: *mut Error) -> i32;
    fn tile_device_close(device: Handle);
    fn tile_module_load_file(device: Handle, path: *const c_char, out: *mut Handle, error: *mut Error) -> i32;
    fn tile_module_destroy(module: Handle);
    fn tile_module_get_kernel(module: Handle, name: *const c_char, out: *mut Handle, error: *mut Error) -> i32;
    fn tile_buffer_create(device: Handle, bytes: usize, out: *mut Handle, error: *mut Error) -> i32;
    fn tile_buffer_destroy(buffer: Handle);
    fn tile_buffer_data(buffer: Handle) -> *mut c_void;
    fn tile_copy_to_device(dst: Handle, offset: usize, src: *const c_void, bytes: usize, stream: Handle, error: *mut Error) -> i32;
    fn tile_copy_to_host(dst: *mut c_void, src: Handle, offset: usize, bytes: usize, stream: Handle, error: *mut Error) -> i32;
    fn tile_launch(kernel: Handle, args: *const Arg, n: u32, options: *const Options, error: *mut Error) -> i32;
    fn tile_error_clear(error: *mut Error);
}

/// Calls with an error object; what it reports becomes a Rust error.
fn call(f: impl FnOnce(*mut Error) -> i32) -> Result<(), String> {
    let mut error = Error { status: 0, message: [0; 512], log: null_mut() };
    if f(&mut error) == 0 {
        return Ok(());
    }
    let text = if error.log.is_null() { error.message.as_ptr() } else { error.log };
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    unsafe { tile_error_clear(&mut error) };
    Err(text)
}

fn create(f: impl FnOnce(*mut Handle, *mut Error) -> i32) -> Result<Handle, String> {
    let mut handle = null_mut();
    call(|e| f(&mut handle, e)).map(|()| handle)
}

/// A handle that is given back when it goes out of scope.
struct Owned(Handle, unsafe extern "C" fn(Handle));
impl Drop for Owned {
    fn drop(&mut self) {
        unsafe { (self.1)(self.0) }
    }
}

const POINTER: i32 = 0;
const INT: i32 = 2;

fn run(path: &str, device: &str) -> Result<(), String> {
    let (path, device) = (CString::new(path).unwrap(), CString::new(device).unwrap());
    let dev = Owned(create(|h, e| unsafe { tile_device_open(device.as_ptr(), h, e) })?, tile_device_close);
    let module = Owned(create(|h, e| unsafe { tile_module_load_file(dev.0, path.as_ptr(), h, e) })?, tile_module_destroy);
    let name = CString::new("vector_add").unwrap();
    let kernel = create(|h, e| unsafe { tile_module_get_kernel(module.0, name.as_ptr(), h, e) })?;

    let n = 100_003usize;
    let x: Vec<f32> = (0..n).map(|i| (i % 1013) as f32 * 0.25).collect();
    let y: Vec<f32> = (0..n).map(|i| (i % 811) as f32 - 400.0).collect();
    let mut z = vec![f32::NAN; n];
    let mut buffers = Vec::new();
    for host in [&x, &y, &z] {
        let b = Owned(create(|h, e| unsafe { tile_buffer_create(dev.0, n * 4, h, e) })?, tile_buffer_destroy);
        call(|e| unsafe { tile_copy_to_device(b.0, 0, host.as_ptr().cast(), n * 4, null_mut(), e) })?;
        buffers.push(b);
    }
    let fp32 = CString::new("fp32").unwrap();
    let block = CString::new("BLOCK").unwrap();
    let mut args: Vec<Arg> = buffers
        .iter()
        .map(|b| Arg { name: null(), kind: POINTER, constexpr_kind: 0, dtype: fp32.as_ptr(), value: unsafe { tile_buffer_data(b.0) } as u64 })
        .collect();
    args.push(Arg { name: null(), kind: INT, constexpr_kind: 0, dtype: null(), value: n as u64 });
    args.push(Arg { name: block.as_ptr(), kind: INT, constexpr_kind: 0, dtype: null(), value: 1024 });
    let options = Options {
        size: std::mem::size_of::<Options>(),
        grid: [(n as u32 + 1023) / 1024, 1, 1],
        num_warps: 4,
        num_ctas: 0,
        num_stages: 0,
        maxnreg: 0,
        stream: null_mut(),
    };
    call(|e| unsafe { tile_launch(kernel, args.as_ptr(), args.len() as u32, &options, e) })?;
    call(|e| unsafe { tile_copy_to_host(z.as_mut_ptr().cast(), buffers[2].0, 0, n * 4, null_mut(), e) })?;
    match (0..n).find(|&i| z[i] != x[i] + y[i]) {
        Some(i) => Err(format!("z[{i}] is {}, expected {}", z[i], x[i] + y[i])),
        None => Ok(println!("vector_add {n}: right")),
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let device = args.get(1).map_or("cpu", String::as_str);
    let path = args.get(2).map_or("examples/vector_add.tile", String::as_str);
    if let Err(text) = run(path, device) {
        eprintln!("{text}");
        std::process::exit(1);
    }
}
