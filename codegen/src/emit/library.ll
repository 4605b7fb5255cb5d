; Functions on numbers that the host's runtime has (`runtime/math.rs`, `core/src/algebra`), for a device, which calls nothing: each is inlined, and
; takes the same steps.

declare double @llvm.fma.f64(double, double, double)
declare double @llvm.fabs.f64(double)
declare double @llvm.floor.f64(double)
declare float @llvm.floor.f32(float)
declare double @llvm.copysign.f64(double, double)
declare float @llvm.copysign.f32(float, float)
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.fshl.i64(i64, i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare i32 @llvm.smin.i32(i32, i32)
declare i32 @llvm.smax.i32(i32, i32)

; The greatest common divisor, by Euclid.
define i64 @fl.device.gcd(i64 %a, i64 %b) alwaysinline nounwind willreturn memory(none) {
entry:
  br label %head
head:
  %x = phi i64 [ %a, %entry ], [ %y, %step ]
  %y = phi i64 [ %b, %entry ], [ %rest, %step ]
  %more = icmp ne i64 %y, 0
  br i1 %more, label %step, label %done
step:
  %rest = urem i64 %x, %y
  br label %head
done:
  ret i64 %x
}

; A power modulo 2^64, by squares.
define i64 @fl.device.pow_int(i64 %base, i64 %exponent) alwaysinline nounwind willreturn memory(none) {
entry:
  br label %head
head:
  %power = phi i64 [ 1, %entry ], [ %next, %step ]
  %square = phi i64 [ %base, %entry ], [ %squared, %step ]
  %left = phi i64 [ %exponent, %entry ], [ %half, %step ]
  %more = icmp ne i64 %left, 0
  br i1 %more, label %step, label %done
step:
  %bit = and i64 %left, 1
  %odd = icmp ne i64 %bit, 0
  %product = mul i64 %power, %square
  %next = select i1 %odd, i64 %product, i64 %power
  %squared = mul i64 %square, %square
  %half = lshr i64 %left, 1
  br label %head
done:
  ret i64 %power
}

; The significand of a positive number, whose first bit is bit 52.
define i64 @fl.device.significand(i64 %bits) alwaysinline nounwind willreturn memory(none) {
  %zeros = call i64 @llvm.ctlz.i64(i64 %bits, i1 false)
  %by = sub i64 %zeros, 11
  %moved = shl i64 %bits, %by
  %fraction = and i64 %bits, 4503599627370495
  %whole = or i64 %fraction, 4503599627370496
  %is_small = icmp ult i64 %bits, 4503599627370496
  %made = select i1 %is_small, i64 %moved, i64 %whole
  ret i64 %made
}

; Its exponent: what is stored, and less than 1 of subnormal numbers.
define i64 @fl.device.exponent(i64 %bits) alwaysinline nounwind willreturn memory(none) {
  %zeros = call i64 @llvm.ctlz.i64(i64 %bits, i1 false)
  %small = sub i64 12, %zeros
  %stored = lshr i64 %bits, 52
  %is_small = icmp eq i64 %stored, 0
  %made = select i1 %is_small, i64 %small, i64 %stored
  ret i64 %made
}

; The rest of a division that is rounded to zero: exact, bit by bit.
define double @fl.device.fmod(double %x, double %y) alwaysinline nounwind willreturn memory(none) {
entry:
  %xb = bitcast double %x to i64
  %yb = bitcast double %y to i64
  %ux = and i64 %xb, 9223372036854775807
  %uy = and i64 %yb, 9223372036854775807
  %sign = and i64 %xb, -9223372036854775808
  %by_zero = icmp eq i64 %uy, 0
  %infinite = icmp uge i64 %ux, 9218868437227405312
  %nan = icmp ugt i64 %uy, 9218868437227405312
  %bad_1 = or i1 %by_zero, %infinite
  %bad = or i1 %bad_1, %nan
  br i1 %bad, label %none, label %numbers
none:
  ret double 0x7FF8000000000000
numbers:
  %less = icmp ult i64 %ux, %uy
  br i1 %less, label %itself, label %divide
itself:
  ret double %x
divide:
  %mx = call i64 @fl.device.significand(i64 %ux)
  %my = call i64 @fl.device.significand(i64 %uy)
  %ex = call i64 @fl.device.exponent(i64 %ux)
  %ey = call i64 @fl.device.exponent(i64 %uy)
  %places = sub i64 %ex, %ey
  br label %head
head:
  %n = phi i64 [ %places, %divide ], [ %fewer, %step ]
  %m = phi i64 [ %mx, %divide ], [ %doubled, %step ]
  %fits = icmp uge i64 %m, %my
  %taken = sub i64 %m, %my
  %rest = select i1 %fits, i64 %taken, i64 %m
  %more = icmp sgt i64 %n, 0
  br i1 %more, label %step, label %done
step:
  %doubled = shl i64 %rest, 1
  %fewer = sub i64 %n, 1
  br label %head
done:
  %zero = icmp eq i64 %rest, 0
  br i1 %zero, label %nothing, label %some
nothing:
  %signed_zero = bitcast i64 %sign to double
  ret double %signed_zero
some:
  %zeros = call i64 @llvm.ctlz.i64(i64 %rest, i1 false)
  %by = sub i64 %zeros, 11
  %first = shl i64 %rest, %by
  %e = sub i64 %ey, %by
  %is_normal = icmp sgt i64 %e, 0
  %fraction = and i64 %first, 4503599627370495
  %exponent = shl i64 %e, 52
  %normal = or i64 %fraction, %exponent
  %down = sub i64 1, %e
  %down_some = select i1 %is_normal, i64 0, i64 %down
  %small = lshr i64 %first, %down_some
  %made = select i1 %is_normal, i64 %normal, i64 %small
  %bits = or i64 %made, %sign
  %result = bitcast i64 %bits to double
  ret double %result
}

define float @fl.device.fmodf(float %x, float %y) alwaysinline nounwind willreturn memory(none) {
  %wide_x = fpext float %x to double
  %wide_y = fpext float %y to double
  %rest = call double @fl.device.fmod(double %wide_x, double %wide_y)
  %made = fptrunc double %rest to float
  ret float %made
}

; A quotient rounded down, and its rest.
define double @fl.device.floordiv(double %x, double %y) alwaysinline nounwind willreturn memory(none) {
entry:
  %exact = fdiv double %x, %y
  %by_zero = fcmp oeq double %y, 0.0
  br i1 %by_zero, label %infinite, label %divide
infinite:
  ret double %exact
divide:
  %rest = call double @fl.device.fmod(double %x, double %y)
  %some = fcmp une double %rest, 0.0
  %below_rest = fcmp olt double %rest, 0.0
  %below_y = fcmp olt double %y, 0.0
  %differ = xor i1 %below_rest, %below_y
  %is_lower = and i1 %some, %differ
  %lower = select i1 %is_lower, double 1.0, double 0.0
  %whole = fsub double %x, %rest
  %divided = fdiv double %whole, %y
  %quotient = fsub double %divided, %lower
  %is_zero = fcmp oeq double %quotient, 0.0
  %zero = call double @llvm.copysign.f64(double 0.0, double %exact)
  %floor = call double @llvm.floor.f64(double %quotient)
  %above = fsub double %quotient, %floor
  %is_up = fcmp ogt double %above, 0.5
  %up = fadd double %floor, 1.0
  %near = select i1 %is_up, double %up, double %floor
  %made = select i1 %is_zero, double %zero, double %near
  ret double %made
}

define double @fl.device.floormod(double %x, double %y) alwaysinline nounwind willreturn memory(none) {
  %rest = call double @fl.device.fmod(double %x, double %y)
  %is_zero = fcmp oeq double %rest, 0.0
  %zero = call double @llvm.copysign.f64(double 0.0, double %y)
  %below_rest = fcmp olt double %rest, 0.0
  %below_y = fcmp olt double %y, 0.0
  %differ = xor i1 %below_rest, %below_y
  %moved = fadd double %rest, %y
  %other = select i1 %differ, double %moved, double %rest
  %made = select i1 %is_zero, double %zero, double %other
  ret double %made
}

; A quotient rounded down, and its rest.
define float @fl.device.floordivf(float %x, float %y) alwaysinline nounwind willreturn memory(none) {
entry:
  %exact = fdiv float %x, %y
  %by_zero = fcmp oeq float %y, 0.0
  br i1 %by_zero, label %infinite, label %divide
infinite:
  ret float %exact
divide:
  %rest = call float @fl.device.fmodf(float %x, float %y)
  %some = fcmp une float %rest, 0.0
  %below_rest = fcmp olt float %rest, 0.0
  %below_y = fcmp olt float %y, 0.0
  %differ = xor i1 %below_rest, %below_y
  %is_lower = and i1 %some, %differ
  %lower = select i1 %is_lower, float 1.0, float 0.0
  %whole = fsub float %x, %rest
  %divided = fdiv float %whole, %y
  %quotient = fsub float %divided, %lower
  %is_zero = fcmp oeq float %quotient, 0.0
  %zero = call float @llvm.copysign.f32(float 0.0, float %exact)
  %floor = call float @llvm.floor.f32(float %quotient)
  %above = fsub float %quotient, %floor
  %is_up = fcmp ogt float %above, 0.5
  %up = fadd float %floor, 1.0
  %near = select i1 %is_up, float %up, float %floor
  %made = select i1 %is_zero, float %zero, float %near
  ret float %made
}

define float @fl.device.floormodf(float %x, float %y) alwaysinline nounwind willreturn memory(none) {
  %rest = call float @fl.device.fmodf(float %x, float %y)
  %is_zero = fcmp oeq float %rest, 0.0
  %zero = call float @llvm.copysign.f32(float 0.0, float %y)
  %below_rest = fcmp olt float %rest, 0.0
  %below_y = fcmp olt float %y, 0.0
  %differ = xor i1 %below_rest, %below_y
  %moved = fadd float %rest, %y
  %other = select i1 %differ, float %moved, float %rest
  %made = select i1 %is_zero, float %zero, float %other
  ret float %made
}

; The next float from x to y.
define double @fl.device.nextafter(double %x, double %y) alwaysinline nounwind willreturn memory(none) {
  %xb = bitcast double %x to i64
  %yb = bitcast double %y to i64
  %no_numbers = fcmp uno double %x, %y
  %none = fadd double %x, %y
  %same = fcmp oeq double %x, %y
  %is_zero = fcmp oeq double %x, 0.0
  %sign = and i64 %yb, -9223372036854775808
  %least = or i64 %sign, 1
  %less = fcmp olt double %x, %y
  %positive = icmp sgt i64 %xb, 0
  %grows = icmp eq i1 %less, %positive
  %by = select i1 %grows, i64 1, i64 -1
  %next = add i64 %xb, %by
  %bits = select i1 %is_zero, i64 %least, i64 %next
  %moved = bitcast i64 %bits to double
  %made = select i1 %same, double %y, double %moved
  %result = select i1 %no_numbers, double %none, double %made
  ret double %result
}

; The next float from x to y.
define float @fl.device.nextafterf(float %x, float %y) alwaysinline nounwind willreturn memory(none) {
  %xb = bitcast float %x to i32
  %yb = bitcast float %y to i32
  %no_numbers = fcmp uno float %x, %y
  %none = fadd float %x, %y
  %same = fcmp oeq float %x, %y
  %is_zero = fcmp oeq float %x, 0.0
  %sign = and i32 %yb, -2147483648
  %least = or i32 %sign, 1
  %less = fcmp olt float %x, %y
  %positive = icmp sgt i32 %xb, 0
  %grows = icmp eq i1 %less, %positive
  %by = select i1 %grows, i32 1, i32 -1
  %next = add i32 %xb, %by
  %bits = select i1 %is_zero, i32 %least, i32 %next
  %moved = bitcast i32 %bits to float
  %made = select i1 %same, float %y, float %moved
  %result = select i1 %no_numbers, float %none, float %made
  ret float %result
}

; x times a power of two, which may be no float: in steps that round once.
define double @fl.device.ldexp(double %x, i32 %n) alwaysinline nounwind willreturn memory(none) {
  %x_up = fmul double %x, 0x7FE0000000000000
  %x_up_2 = fmul double %x_up, 0x7FE0000000000000
  %x_down = fmul double %x, 0x0360000000000000
  %x_down_2 = fmul double %x_down, 0x0360000000000000
  %n_up = sub i32 %n, 1023
  %n_up_2 = sub i32 %n_up, 1023
  %n_down = add i32 %n, 969
  %n_down_2 = add i32 %n_down, 969
  %is_up = icmp sgt i32 %n, 1023
  %is_up_2 = icmp sgt i32 %n_up, 1023
  %is_down = icmp slt i32 %n, -1022
  %is_down_2 = icmp slt i32 %n_down, -1022
  %n_most = call i32 @llvm.smin.i32(i32 %n_up_2, i32 1023)
  %n_least = call i32 @llvm.smax.i32(i32 %n_down_2, i32 -1022)
  %u = select i1 %is_up_2, i32 %n_most, i32 %n_up
  %d = select i1 %is_down_2, i32 %n_least, i32 %n_down
  %xu = select i1 %is_up_2, double %x_up_2, double %x_up
  %xd = select i1 %is_down_2, double %x_down_2, double %x_down
  %n_0 = select i1 %is_up, i32 %u, i32 %n
  %n_1 = select i1 %is_down, i32 %d, i32 %n_0
  %x_0 = select i1 %is_up, double %xu, double %x
  %x_1 = select i1 %is_down, double %xd, double %x_0
  %biased = add i32 %n_1, 1023
  %wide = zext i32 %biased to i64
  %bits = shl i64 %wide, 52
  %power = bitcast i64 %bits to double
  %made = fmul double %x_1, %power
  ret double %made
}

; x times a power of two, which may be no float: in steps that round once.
define float @fl.device.ldexpf(float %x, i32 %n) alwaysinline nounwind willreturn memory(none) {
  %x_up = fmul float %x, 0x47E0000000000000
  %x_up_2 = fmul float %x_up, 0x47E0000000000000
  %x_down = fmul float %x, 0x3990000000000000
  %x_down_2 = fmul float %x_down, 0x3990000000000000
  %n_up = sub i32 %n, 127
  %n_up_2 = sub i32 %n_up, 127
  %n_down = add i32 %n, 102
  %n_down_2 = add i32 %n_down, 102
  %is_up = icmp sgt i32 %n, 127
  %is_up_2 = icmp sgt i32 %n_up, 127
  %is_down = icmp slt i32 %n, -126
  %is_down_2 = icmp slt i32 %n_down, -126
  %n_most = call i32 @llvm.smin.i32(i32 %n_up_2, i32 127)
  %n_least = call i32 @llvm.smax.i32(i32 %n_down_2, i32 -126)
  %u = select i1 %is_up_2, i32 %n_most, i32 %n_up
  %d = select i1 %is_down_2, i32 %n_least, i32 %n_down
  %xu = select i1 %is_up_2, float %x_up_2, float %x_up
  %xd = select i1 %is_down_2, float %x_down_2, float %x_down
  %n_0 = select i1 %is_up, i32 %u, i32 %n
  %n_1 = select i1 %is_down, i32 %d, i32 %n_0
  %x_0 = select i1 %is_up, float %xu, float %x
  %x_1 = select i1 %is_down, float %xd, float %x_0
  %biased = add i32 %n_1, 127
  %bits = shl i32 %biased, 23
  %power = bitcast i32 %bits to float
  %made = fmul float %x_1, %power
  ret float %made
}

; A word of the digits of 2/pi (`core/src/algebra/elementary/angle.rs`).
define i64 @fl.device.digits(i64 %at) alwaysinline nounwind willreturn memory(none) {
  %is_0 = icmp eq i64 %at, 0
  %digits_0 = select i1 %is_0, i64 0, i64 0
  %is_1 = icmp eq i64 %at, 1
  %digits_1 = select i1 %is_1, i64 -6703182060581546711, i64 %digits_0
  %is_2 = icmp eq i64 %at, 2
  %digits_2 = select i1 %is_2, i64 -277156292786332224, i64 %digits_1
  %is_3 = icmp eq i64 %at, 3
  %digits_3 = select i1 %is_3, i64 -2638381946312093631, i64 %digits_2
  %is_4 = icmp eq i64 %at, 4
  %digits_4 = select i1 %is_4, i64 -121206125134887583, i64 %digits_3
  %is_5 = icmp eq i64 %at, 5
  %digits_5 = select i1 %is_5, i64 -5249950069107600672, i64 %digits_4
  %is_6 = icmp eq i64 %at, 6
  %digits_6 = select i1 %is_6, i64 452944820249399836, i64 %digits_5
  %is_7 = icmp eq i64 %at, 7
  %digits_7 = select i1 %is_7, i64 -135693905287338178, i64 %digits_6
  %is_8 = icmp eq i64 %at, 8
  %digits_8 = select i1 %is_8, i64 -1692731182770600828, i64 %digits_7
  %is_9 = icmp eq i64 %at, 9
  %digits_9 = select i1 %is_9, i64 -1613291254968254911, i64 %digits_8
  %is_10 = icmp eq i64 %at, 10
  %digits_10 = select i1 %is_10, i64 4148332274289687028, i64 %digits_9
  %is_11 = icmp eq i64 %at, 11
  %digits_11 = select i1 %is_11, i64 -7168499653074671557, i64 %digits_10
  %is_12 = icmp eq i64 %at, 12
  %digits_12 = select i1 %is_12, i64 2303758334597371919, i64 %digits_11
  %is_13 = icmp eq i64 %at, 13
  %digits_13 = select i1 %is_13, i64 -1211730484530615009, i64 %digits_12
  %is_14 = icmp eq i64 %at, 14
  %digits_14 = select i1 %is_14, i64 7869616827067468215, i64 %digits_13
  %is_15 = icmp eq i64 %at, 15
  %digits_15 = select i1 %is_15, i64 5712322887342352941, i64 %digits_14
  %is_16 = icmp eq i64 %at, 16
  %digits_16 = select i1 %is_16, i64 8441921394348257659, i64 %digits_15
  %is_17 = icmp eq i64 %at, 17
  %digits_17 = select i1 %is_17, i64 4397547296490951402, i64 %digits_16
  %is_18 = icmp eq i64 %at, 18
  %digits_18 = select i1 %is_18, i64 7780917995555872008, i64 %digits_17
  %is_19 = icmp eq i64 %at, 19
  %digits_19 = select i1 %is_19, i64 6197850593633725355, i64 %digits_18
  %is_20 = icmp eq i64 %at, 20
  %digits_20 = select i1 %is_20, i64 -1094449336203069923, i64 %digits_19
  ret i64 %digits_20
}

; 64 of the digits, after so many.
define i64 @fl.device.word(i64 %from) alwaysinline nounwind willreturn memory(none) {
  %at = lshr i64 %from, 6
  %next = add i64 %at, 1
  %first = call i64 @fl.device.digits(i64 %at)
  %second = call i64 @fl.device.digits(i64 %next)
  %shift = and i64 %from, 63
  %made = call i64 @llvm.fshl.i64(i64 %first, i64 %second, i64 %shift)
  ret i64 %made
}

; The opposite of a number of 128 bits, in two words: a device has no carry.
define { i64, i64 } @fl.device.opposite(i64 %high, i64 %low) alwaysinline nounwind willreturn memory(none) {
  %low_made = sub i64 0, %low
  %others = xor i64 %high, -1
  %carries = icmp eq i64 %low, 0
  %carry = zext i1 %carries to i64
  %high_made = add i64 %others, %carry
  %one = insertvalue { i64, i64 } poison, i64 %high_made, 0
  %two = insertvalue { i64, i64 } %one, i64 %low_made, 1
  ret { i64, i64 } %two
}

; A whole number of 128 bits as a float, rounded to the nearest, ties to even.
define double @fl.device.rounded(i64 %high, i64 %low) alwaysinline nounwind willreturn memory(none) {
  %is_below = icmp slt i64 %high, 0
  %opposite = call { i64, i64 } @fl.device.opposite(i64 %high, i64 %low)
  %opposite_high = extractvalue { i64, i64 } %opposite, 0
  %opposite_low = extractvalue { i64, i64 } %opposite, 1
  %size_high = select i1 %is_below, i64 %opposite_high, i64 %high
  %size_low = select i1 %is_below, i64 %opposite_low, i64 %low
  %is_short = icmp eq i64 %size_high, 0
  %first_word = select i1 %is_short, i64 %size_low, i64 %size_high
  %last_word = select i1 %is_short, i64 0, i64 %size_low
  %all_zeros = call i64 @llvm.ctlz.i64(i64 %first_word, i1 false)
  %zeros = and i64 %all_zeros, 63
  %top = call i64 @llvm.fshl.i64(i64 %first_word, i64 %last_word, i64 %zeros)
  %bottom = shl i64 %last_word, %zeros
  %has_more = icmp ne i64 %bottom, 0
  %sticky = zext i1 %has_more to i64
  %digits = or i64 %top, %sticky
  %number = uitofp i64 %digits to double
  %base = select i1 %is_short, i64 1023, i64 1087
  %exponent = sub i64 %base, %zeros
  %power_bits = shl i64 %exponent, 52
  %power = bitcast i64 %power_bits to double
  %made = fmul double %number, %power
  %negative = fneg double %made
  %signed = select i1 %is_below, double %negative, double %made
  ret double %signed
}

; A whole number that is a float of at most 127 bits, exactly, in two words.
define { i64, i64 } @fl.device.whole(double %x) alwaysinline nounwind willreturn memory(none) {
  %bits = bitcast double %x to i64
  %size = and i64 %bits, 9223372036854775807
  %stored = lshr i64 %size, 52
  %fraction = and i64 %size, 4503599627370495
  %m = or i64 %fraction, 4503599627370496
  %wide = zext i64 %m to i128
  %up = sub i64 %stored, 1075
  %is_up = icmp sge i64 %up, 0
  %down = sub i64 0, %up
  %up_some = select i1 %is_up, i64 %up, i64 0
  %down_some = select i1 %is_up, i64 0, i64 %down
  %up_wide = zext i64 %up_some to i128
  %down_most = call i64 @llvm.umin.i64(i64 %down_some, i64 127)
  %down_wide = zext i64 %down_most to i128
  %moved = shl i128 %wide, %up_wide
  %made = lshr i128 %moved, %down_wide
  %made_low = trunc i128 %made to i64
  %made_up = lshr i128 %made, 64
  %made_high = trunc i128 %made_up to i64
  %opposite = call { i64, i64 } @fl.device.opposite(i64 %made_high, i64 %made_low)
  %one = insertvalue { i64, i64 } poison, i64 %made_high, 0
  %two = insertvalue { i64, i64 } %one, i64 %made_low, 1
  %is_below = icmp slt i64 %bits, 0
  %signed = select i1 %is_below, { i64, i64 } %opposite, { i64, i64 } %two
  ret { i64, i64 } %signed
}

; Sine and cosine of a finite angle that is far.
define { double, double } @fl.device.far(double %x) alwaysinline nounwind willreturn memory(none) {
  %bits = bitcast double %x to i64
  %fraction = and i64 %bits, 4503599627370495
  %m = or i64 %fraction, 4503599627370496
  %moved = lshr i64 %bits, 52
  %stored = and i64 %moved, 2047
  ; Behind 64 zeros: e - 2 + 64, where e is the exponent of m's last bit.
  %from = sub i64 %stored, 1013
  %from_1 = add i64 %from, 64
  %from_2 = add i64 %from, 128
  %word_0 = call i64 @fl.device.word(i64 %from)
  %word_1 = call i64 @fl.device.word(i64 %from_1)
  %word_2 = call i64 @fl.device.word(i64 %from_2)
  %m_wide = zext i64 %m to i128
  %wide_2 = zext i64 %word_2 to i128
  %low = mul i128 %m_wide, %wide_2
  %low_up = lshr i128 %low, 64
  %carry_2 = trunc i128 %low_up to i64
  %wide_1 = zext i64 %word_1 to i128
  %product_1 = mul i128 %m_wide, %wide_1
  %product_1_low = trunc i128 %product_1 to i64
  %product_1_up = lshr i128 %product_1, 64
  %product_1_high = trunc i128 %product_1_up to i64
  %middle = add i64 %product_1_low, %carry_2
  %carries = icmp ult i64 %middle, %carry_2
  %carry = zext i1 %carries to i64
  %carry_1 = add i64 %product_1_high, %carry
  %product_0 = mul i64 %m, %word_0
  %high = add i64 %product_0, %carry_1
  %eighths = lshr i64 %high, 61
  %eighths_next = add i64 %eighths, 1
  %quarters_of_size = lshr i64 %eighths_next, 1
  %rest_up = call i64 @llvm.fshl.i64(i64 %high, i64 %middle, i64 2)
  %rest_high = ashr i64 %rest_up, 2
  %first = call double @fl.device.rounded(i64 %rest_high, i64 %middle)
  %first_whole = call { i64, i64 } @fl.device.whole(double %first)
  %whole_high = extractvalue { i64, i64 } %first_whole, 0
  %whole_low = extractvalue { i64, i64 } %first_whole, 1
  %left_low = sub i64 %middle, %whole_low
  %borrows = icmp ult i64 %middle, %whole_low
  %borrow = zext i1 %borrows to i64
  %left_whole = sub i64 %rest_high, %whole_high
  %left_high = sub i64 %left_whole, %borrow
  %second = call double @fl.device.rounded(i64 %left_high, i64 %left_low)
  %turn_high = fmul double %first, 0x3810000000000000
  %turn_low = fmul double %second, 0x3810000000000000
  %angle = fmul double %turn_high, 0x3FF921FB54442D18
  %angle_negative = fneg double %angle
  %lost_0 = call double @llvm.fma.f64(double %turn_high, double 0x3FF921FB54442D18, double %angle_negative)
  %lost_1 = fmul double %turn_high, 0x3C91A62633145C07
  %lost_2 = fmul double %turn_low, 0x3FF921FB54442D18
  %lost_3 = fadd double %lost_1, %lost_2
  %lost = fadd double %lost_0, %lost_3
  %sum = fadd double %angle, %lost
  %kept = fsub double %sum, %angle
  %rest_low = fsub double %lost, %kept
  %is_below = fcmp olt double %x, 0.0
  %sum_negative = fneg double %sum
  %low_negative = fneg double %rest_low
  %quarters_negative = sub i64 0, %quarters_of_size
  %h = select i1 %is_below, double %sum_negative, double %sum
  %l = select i1 %is_below, double %low_negative, double %rest_low
  %quarters = select i1 %is_below, i64 %quarters_negative, i64 %quarters_of_size
  %z = fmul double %h, %h
  %half = fmul double %z, 0.5
  %sine_0 = call double @llvm.fma.f64(double 0xBD68E87B79F5C1AA, double %z, double 0x3DE60E7E1BA6EAAB)
  %sine_1 = call double @llvm.fma.f64(double %sine_0, double %z, double 0xBE5AE63FAA8A2B3E)
  %sine_2 = call double @llvm.fma.f64(double %sine_1, double %z, double 0x3EC71DE3A11C073D)
  %sine_3 = call double @llvm.fma.f64(double %sine_2, double %z, double 0xBF2A01A019FE94B7)
  %sine_4 = call double @llvm.fma.f64(double %sine_3, double %z, double 0x3F81111111111020)
  %sine_5 = call double @llvm.fma.f64(double %sine_4, double %z, double 0xBFC5555555555555)
  %half_negative = fneg double %half
  %sine_low = call double @llvm.fma.f64(double %l, double %half_negative, double %l)
  %cube = fmul double %z, %h
  %sine_rest = call double @llvm.fma.f64(double %cube, double %sine_5, double %sine_low)
  %sine = fadd double %h, %sine_rest
  %most = fsub double 1.0, %half
  %cosine_0 = call double @llvm.fma.f64(double 0xBDA907018E34F1A3, double %z, double 0x3E21EEB532A8605F)
  %cosine_1 = call double @llvm.fma.f64(double %cosine_0, double %z, double 0xBE927E4F9FE917C4)
  %cosine_2 = call double @llvm.fma.f64(double %cosine_1, double %z, double 0x3EFA01A019F351B0)
  %cosine_3 = call double @llvm.fma.f64(double %cosine_2, double %z, double 0xBF56C16C16C168BF)
  %cosine_4 = call double @llvm.fma.f64(double %cosine_3, double %z, double 0x3FA5555555555555)
  %square = fmul double %z, %z
  %h_negative = fneg double %h
  %cosine_low = fmul double %h_negative, %l
  %cosine_rest = call double @llvm.fma.f64(double %square, double %cosine_4, double %cosine_low)
  %off_0 = fsub double 1.0, %most
  %off_1 = fsub double %off_0, %half
  %off = fadd double %off_1, %cosine_rest
  %cosine = fadd double %most, %off
  %odd = and i64 %quarters, 1
  %turned = sub i64 0, %odd
  %s = bitcast double %sine to i64
  %c = bitcast double %cosine to i64
  %both = xor i64 %s, %c
  %changed = and i64 %both, %turned
  %sine_half = lshr i64 %quarters, 1
  %sine_sign = shl i64 %sine_half, 63
  %next_quarters = add i64 %quarters, 1
  %cosine_half = lshr i64 %next_quarters, 1
  %cosine_sign = shl i64 %cosine_half, 63
  %s_0 = xor i64 %s, %changed
  %s_1 = xor i64 %s_0, %sine_sign
  %c_0 = xor i64 %c, %changed
  %c_1 = xor i64 %c_0, %cosine_sign
  %sine_made = bitcast i64 %s_1 to double
  %cosine_made = bitcast i64 %c_1 to double
  %one = insertvalue { double, double } poison, double %sine_made, 0
  %two = insertvalue { double, double } %one, double %cosine_made, 1
  ret { double, double } %two
}

define double @fl.device.sin(double %x) alwaysinline nounwind willreturn memory(none) {
entry:
  %size = call double @llvm.fabs.f64(double %x)
  %is_finite = fcmp olt double %size, 0x7FF0000000000000
  br i1 %is_finite, label %angle, label %none
none:
  ret double 0x7FF8000000000000
angle:
  %both = call { double, double } @fl.device.far(double %x)
  %made = extractvalue { double, double } %both, 0
  ret double %made
}

define double @fl.device.cos(double %x) alwaysinline nounwind willreturn memory(none) {
entry:
  %size = call double @llvm.fabs.f64(double %x)
  %is_finite = fcmp olt double %size, 0x7FF0000000000000
  br i1 %is_finite, label %angle, label %none
none:
  ret double 0x7FF8000000000000
angle:
  %both = call { double, double } @fl.device.far(double %x)
  %made = extractvalue { double, double } %both, 1
  ret double %made
}

define double @fl.device.tan(double %x) alwaysinline nounwind willreturn memory(none) {
entry:
  %size = call double @llvm.fabs.f64(double %x)
  %is_finite = fcmp olt double %size, 0x7FF0000000000000
  br i1 %is_finite, label %angle, label %none
none:
  ret double 0x7FF8000000000000
angle:
  %both = call { double, double } @fl.device.far(double %x)
  %s = extractvalue { double, double } %both, 0
  %c = extractvalue { double, double } %both, 1
  %made = fdiv double %s, %c
  ret double %made
}
