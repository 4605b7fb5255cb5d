//! NumPy's arrays as the library's, and back: nothing is copied that need not be.
//!
//! ```text
//!  ndarray ─usable─▶ ndarray: native bytes, aligned, contiguous ─borrowed─▶ Array over the same memory
//!                       └─frozen─▶ nobody can write to it through what it is a view of
//!  Array ──view──▶ ndarray over the same memory, which holds the tensor
//! ```
//!
//! Invariant: who makes an [`Array`] by [`borrowed`] holds the ndarray for as long as the array, and its copies that
//! borrow, are read.

use crate::error::operand;
use fiberloom::{Array, Elements, Type};
use numpy::npyffi::flags::{NPY_ARRAY_ALIGNED, NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_F_CONTIGUOUS, NPY_ARRAY_WRITEABLE};
use numpy::npyffi::{NPY_TYPES, NpyTypes, PY_ARRAY_API, PyArrayObject_fields, get_type_object, npy_intp};
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyMemoryError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ptr::NonNull;

/// How an array of several modes may lie in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// The last mode's coordinate runs fastest.
    Rows,
    /// That, or the first mode's.
    RowsOrColumns,
}

/// What NumPy keeps of an array.
fn fields<'a>(array: &'a Bound<'_, PyUntypedArray>) -> &'a PyArrayObject_fields {
    // SAFETY: the object is an ndarray, which begins with these fields; the lock is held, so that nobody changes them.
    unsafe { &(*array.as_array_ptr()).fields }
}

/// Whether an ndarray has this flag.
fn has(array: &Bound<'_, PyUntypedArray>, flag: i32) -> bool {
    fields(array).flags & flag != 0
}

/// NumPy's number of an element type.
fn number(ty: Type) -> NPY_TYPES {
    match ty {
        Type::Bool => NPY_TYPES::NPY_BOOL,
        Type::I8 => NPY_TYPES::NPY_BYTE,
        Type::I16 => NPY_TYPES::NPY_SHORT,
        Type::I32 => NPY_TYPES::NPY_INT,
        Type::I64 => NPY_TYPES::NPY_LONG,
        Type::U8 => NPY_TYPES::NPY_UBYTE,
        Type::U16 => NPY_TYPES::NPY_USHORT,
        Type::U32 => NPY_TYPES::NPY_UINT,
        Type::U64 => NPY_TYPES::NPY_ULONG,
        Type::F32 => NPY_TYPES::NPY_FLOAT,
        Type::F64 => NPY_TYPES::NPY_DOUBLE,
    }
}

/// The language's type of an ndarray's elements, whatever their bytes' order; none of those that it has not.
pub fn element_type(array: &Bound<'_, PyUntypedArray>) -> Option<Type> {
    let is = array.dtype().num();
    let all = [Type::F64, Type::I32, Type::I64, Type::F32, Type::Bool, Type::U8, Type::I8, Type::I16];
    let all = all.into_iter().chain([Type::U16, Type::U32, Type::U64]);
    let same = |ty: &Type| number(*ty) as i32 == is;
    // C's `long long` is another number of the same type.
    let long_long = || match is {
        n if n == NPY_TYPES::NPY_LONGLONG as i32 => Some(Type::I64),
        n if n == NPY_TYPES::NPY_ULONGLONG as i32 => Some(Type::U64),
        _ => None,
    };
    all.into_iter().find(same).or_else(long_long)
}

/// An ndarray of a type that the language has, as generated code reads it: native bytes, aligned, contiguous. It is the same one
/// if it is so already, else a copy, which `copy = Some(false)` refuses.
pub fn usable<'py>(
    array: &Bound<'py, PyUntypedArray>,
    name: &str,
    copy: Option<bool>,
    layout: Layout,
) -> PyResult<(Bound<'py, PyUntypedArray>, Type)> {
    let py = array.py();
    let Some(ty) = element_type(array) else {
        let all = "bool, int8 to int64, uint8 to uint64, float32, float64";
        return Err(operand(py, name, format!("dtype {} is not one that the language has: {all}", array.dtype())));
    };
    let contiguous = match layout {
        Layout::Rows => NPY_ARRAY_C_CONTIGUOUS,
        Layout::RowsOrColumns => NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS,
    };
    let foreign = if cfg!(target_endian = "little") { b'>' } else { b'<' };
    let wrong = match array {
        a if a.dtype().byteorder() == foreign => "its bytes are in another order than this machine's",
        a if !has(a, NPY_ARRAY_ALIGNED) => "it is not aligned",
        a if !has(a, contiguous) => "it is not contiguous",
        _ if copy == Some(true) => "a copy is asked for",
        _ => return Ok((array.clone(), ty)),
    };
    if copy == Some(false) {
        return Err(operand(py, name, format!("{wrong}, and `copy=False` permits no copy of it")));
    }
    let how = PyDict::new(py);
    how.set_item("dtype", array.dtype().call_method1("newbyteorder", ("=",))?)?;
    how.set_item("order", "C")?;
    how.set_item("copy", true)?;
    let copied = py.import("numpy")?.call_method("array", (array,), Some(&how))?;
    Ok((copied.cast_into::<PyUntypedArray>()?, ty))
}

/// Whether an ndarray's last mode runs fastest, or it does not matter.
pub fn is_by_rows(array: &Bound<'_, PyUntypedArray>) -> bool {
    has(array, NPY_ARRAY_C_CONTIGUOUS)
}

/// Whether an object is an ndarray to which one may write.
pub fn is_writable(object: &Bound<'_, PyAny>) -> bool {
    object.cast::<PyUntypedArray>().is_ok_and(|array| has(array, NPY_ARRAY_WRITEABLE))
}

/// An array to which nobody writes: the ndarray and all that it is a view of are made read-only. What is not NumPy's own
/// memory cannot be, and is copied.
pub fn frozen<'py>(
    array: Bound<'py, PyUntypedArray>,
    name: &str,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let py = array.py();
    let (mut at, mut views) = (array.clone(), Vec::new());
    let is_ours = loop {
        views.push(at.clone());
        let base = at.getattr(intern!(py, "base"))?;
        match base.cast_into::<PyUntypedArray>() {
            Ok(base) => at = base,
            Err(other) => break other.into_inner().is_none_or_holds_no_writer(),
        }
    };
    if is_ours {
        for view in views.iter().filter(|view| has(view, NPY_ARRAY_WRITEABLE)) {
            let flags = PyDict::new(py);
            flags.set_item("write", false)?;
            view.call_method("setflags", (), Some(&flags))?;
        }
        return Ok(array);
    }
    if copy == Some(false) {
        let what =
            "its indices are in memory that is not NumPy's, and could change; `copy=False` permits no copy of them";
        return Err(operand(py, name, what));
    }
    let copied = array.call_method0("copy")?.cast_into::<PyUntypedArray>()?;
    frozen(copied, name, copy)
}

/// What stands at the end of a chain of views.
trait Owner {
    /// Whether it is nothing, the last view owning its memory, or one of our tensors, to whose indices no view writes.
    fn is_none_or_holds_no_writer(&self) -> bool;
}

impl Owner for Bound<'_, PyAny> {
    fn is_none_or_holds_no_writer(&self) -> bool {
        self.is_none() || self.is_instance_of::<crate::tensor::Tensor>()
    }
}

/// The library's array over an ndarray's memory.
///
/// # Safety
/// The ndarray came from [`usable`] with this type, and is held as long as the array, and what borrows it, is read.
pub unsafe fn borrowed(array: &Bound<'_, PyUntypedArray>, ty: Type) -> Array<'static> {
    let (data, len) = (fields(array).data.cast::<u8>(), array.len());
    macro_rules! of {
        ($($variant:ident $rust:ty),*) => { match ty { $(Type::$variant => {
            let start = if len == 0 { NonNull::dangling().as_ptr() } else { data.cast::<$rust>() };
            // SAFETY: `usable` found the elements aligned and one behind the other; the caller keeps them alive. Any bits are
            // valid elements: a `bool` is a byte here, which is looked at before it is believed.
            Array::$variant(Elements::Borrowed(unsafe { std::slice::from_raw_parts(start, len) }))
        })* } };
    }
    of!(Bool u8, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64)
}

/// An ndarray of this shape over an array of `owner`'s. `order[l]` is the mode of storage level `l`, outermost first.
///
/// # Safety
/// The array has as many elements as the shape says, and they stay where they are as long as `owner` is held. If
/// `writable`, nobody else believes anything of them.
pub unsafe fn view<'py>(
    array: &Array,
    (shape, order): (&[u64], &[usize]),
    writable: bool,
    owner: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let py = owner.py();
    let mut dims: Vec<npy_intp> = shape.iter().map(|&n| n as npy_intp).collect();
    let mut strides = vec![0; dims.len()];
    let mut stride = array.ty().bytes() as npy_intp;
    for &mode in order.iter().rev() {
        strides[mode] = stride;
        stride = stride.saturating_mul(dims[mode].max(1));
    }
    let flags = if writable { NPY_ARRAY_WRITEABLE } else { 0 };
    // SAFETY: the lock is held. NumPy takes over the reference to the element type, copies dims and strides, and looks at no
    // element. The owner is then held by the array in the place of us.
    unsafe {
        let descr = PY_ARRAY_API.PyArray_DescrFromType(py, number(array.ty()) as i32);
        let made = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            get_type_object(py, NpyTypes::PyArray_Type),
            descr,
            dims.len() as i32,
            dims.as_mut_ptr(),
            strides.as_mut_ptr(),
            array.as_ptr().cast_mut().cast(),
            flags,
            std::ptr::null_mut(),
        );
        let made = Bound::from_owned_ptr_or_err(py, made)?;
        match PY_ARRAY_API.PyArray_SetBaseObject(py, made.as_ptr().cast(), owner.into_ptr()) {
            0 => Ok(made.cast_into_unchecked()),
            _ => Err(PyErr::take(py).unwrap_or_else(|| PyMemoryError::new_err("NumPy made no array"))),
        }
    }
}
