//! Scalars of Rust as values, and back.

use fiberloom_core::algebra::{Type, Value};

#[test]
fn values_are_what_they_were() {
    assert_eq!(Value::from(-1i8), Value::from_i128(Type::I8, -1));
    assert_eq!(i8::try_from(Value::from(-1i8)), Ok(-1));
    assert_eq!((bool::try_from(Value::from(true)), u16::try_from(Value::from(7u16))), (Ok(true), Ok(7)));
    assert_eq!(
        (Value::from(2.5f32), Value::from(2.5)),
        (Value::from_f64(Type::F32, 2.5), Value::from_f64(Type::F64, 2.5))
    );
    assert_eq!(f32::try_from(Value::from(-0.0f32)).map(f32::to_bits), Ok((-0.0f32).to_bits()));
    let other = f64::try_from(Value::from(1i64)).unwrap_err();
    assert_eq!(other.to_string(), "of type i64, asked for as f64");
}
