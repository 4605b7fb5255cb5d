//! The machine for which code is compiled, and the passes that optimize it.

use crate::device;
use crate::emit::elementary;
use crate::{Cpu, Error, OptLevel, Options};
use fiberloom_loops::Gpu;
use inkwell::OptimizationLevel;
use inkwell::llvm_sys::support::LLVMParseCommandLineOptions;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple};
use std::sync::Once;

/// A target machine, with the CPU's name and features, which each function carries as well: LLVM's passes read them there.
pub(crate) struct Machine {
    pub machine: TargetMachine,
    pub cpu: String,
    pub features: String,
    level: OptLevel,
    /// The GPU, unless this is the machine of the process.
    gpu: Option<Gpu>,
}

/// Sets options that LLVM has only for its whole process.
///
/// * No loop strength reduction. It gives each array of a loop a pointer of its own, set anew for each row, and the rows of sparse
///   matrices are short.
/// * No branches in place of conditional moves. The choices of a merge are unpredictable.
/// * Innermost loops are aligned to a cache line, given as the logarithm of its bytes. Short loops at other addresses took up to 2.8
///   times as long, depending on the address: their ends were mispredicted.
#[allow(unsafe_code)]
fn set_options() {
    let aligned = c"-x86-experimental-pref-innermost-loop-alignment=6";
    let options = [c"fiberloom", c"-disable-lsr", c"-x86-cmov-converter=false", aligned].map(|option| option.as_ptr());
    // SAFETY: as many strings as are said, each ended by a zero, which are read before the call returns.
    unsafe {
        LLVMParseCommandLineOptions(options.len() as i32, options.as_ptr(), std::ptr::null());
    }
}

fn set_options_once() {
    static OPTIONS: Once = Once::new();
    OPTIONS.call_once(set_options);
}

/// The passes over a kernel: those of LLVM's standard pipeline that loops without calls profit from, about once each, in a third of its
/// time. Vectors are not interleaved: rows of sparse matrices are short, and the iterations left over from wide steps would run one
/// element at a time.
///
/// Loops of a kernel of more than [`UNROLLED`] statements are not unrolled: unrolling makes up to half of the code, and takes up to half
/// of the time.
const PASSES: &str = "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,\
    loop-mssa(loop-rotate,licm),simplifycfg,instcombine<no-verify-fixpoint>,loop(loop-idiom,indvars,loop-deletion),\
    gvn,loop-mssa(licm),loop-vectorize<interleave-forced-only>,instcombine<no-verify-fixpoint>,simplifycfg,loop-unroll,sroa,\
    instcombine<no-verify-fixpoint>,loop-mssa(licm),simplifycfg)";

/// The pass that makes vectors of iterations.
const LANES: &str = "loop-vectorize<interleave-forced-only>,";

/// The most statements of a kernel whose loops are unrolled.
const UNROLLED: usize = 4096;

impl Machine {
    /// The machine that the options ask for.
    pub fn new(options: &Options) -> Result<Machine, Error> {
        static TARGET: Once = Once::new();
        TARGET.call_once(|| Target::initialize_x86(&InitializationConfig::default()));
        set_options_once();
        let (cpu, features) = match options.cpu {
            Cpu::Host => {
                (TargetMachine::get_host_cpu_name().to_string(), TargetMachine::get_host_cpu_features().to_string())
            }
            Cpu::Baseline => ("x86-64".to_string(), String::new()),
        };
        let level = match options.opt_level {
            OptLevel::None => OptimizationLevel::None,
            OptLevel::Full => OptimizationLevel::Aggressive,
        };
        let triple = TargetMachine::get_default_triple();
        let target = Target::from_triple(&triple).map_err(|e| Error::Llvm(e.to_string()))?;
        let machine = target
            .create_target_machine(&triple, &cpu, &features, level, RelocMode::PIC, CodeModel::Default)
            .ok_or_else(|| Error::Llvm(format!("no target machine for {cpu}")))?;
        Ok(Machine { machine, cpu, features, level: options.opt_level, gpu: None })
    }

    /// The machine that makes PTX for a GPU.
    pub fn device(gpu: Gpu) -> Result<Machine, Error> {
        static TARGET: Once = Once::new();
        TARGET.call_once(|| Target::initialize_nvptx(&InitializationConfig::default()));
        set_options_once();
        let triple = TargetTriple::create("nvptx64-nvidia-cuda");
        let target = Target::from_triple(&triple).map_err(|e| Error::Llvm(e.to_string()))?;
        let (cpu, features) = (gpu.name().to_string(), device::features(gpu).to_string());
        let level = OptimizationLevel::Aggressive;
        let machine = target
            .create_target_machine(&triple, &cpu, &features, level, RelocMode::Default, CodeModel::Default)
            .ok_or_else(|| Error::Llvm(format!("no target machine for {cpu}")))?;
        Ok(Machine { machine, cpu, features, level: OptLevel::Full, gpu: Some(gpu) })
    }

    /// Whether this is a GPU.
    pub fn is_device(&self) -> bool {
        self.gpu.is_some()
    }

    /// Whether LLVM uses its fast instruction selection: without optimization.
    pub fn selects_fast(&self) -> bool {
        self.level == OptLevel::None
    }

    /// Whether the machine has an instruction for fused multiply-add.
    pub fn fuses(&self) -> bool {
        self.is_device() || self.features.split(',').any(|feature| feature == "+fma")
    }

    /// Whether the machine has an instruction for masked vector loads.
    pub fn reads_masked(&self) -> bool {
        self.features.split(',').any(|feature| feature == "+avx2")
    }

    /// Whether gathering lanes, some of them masked, is as fast as loading them one by one. Earlier machines gather in microcode, or with
    /// a slow mitigation of Gather Data Sampling (Intel, *Gather Data Sampling*, INTEL-SA-00828). The test is for AMX tiles, which came
    /// with the first fast machines (Intel, *Sapphire Rapids*, 2023): a virtual machine may report another model.
    pub fn gathers_fast(&self) -> bool {
        self.features.split(',').any(|feature| feature == "+amx-tile") && !self.selects_fast()
    }

    /// Runs this machine's passes over the module of a kernel of `statements` statements.
    pub fn optimize(&self, module: &Module, statements: usize) -> Result<(), Error> {
        if self.level == OptLevel::None {
            return Ok(());
        }
        let passes = if statements <= UNROLLED { PASSES.into() } else { PASSES.replace("loop-unroll,", "") };
        let passes = if self.is_device() { passes.replace(LANES, "") } else { passes };
        let mut passes = with_functions(module, passes);
        if self.is_device() {
            // Functions that were inlined are not printed.
            passes.push_str(",globaldce");
        }
        module.run_passes(&passes, &self.machine, PassBuilderOptions::create()).map_err(|e| Error::Llvm(e.to_string()))
    }

    /// The module as assembly or as an object.
    pub fn write(&self, module: &Module, what: FileType) -> Result<Vec<u8>, Error> {
        let bytes = self.machine.write_to_memory_buffer(module, what).map_err(|e| Error::Llvm(e.to_string()))?;
        Ok(bytes.as_slice().to_vec())
    }
}

/// The passes with calls of the module's own functions inlined: elementary functions before vectorization, and afterwards the variants
/// for vectors that LLVM put in their place.
fn with_functions(module: &Module, passes: String) -> String {
    if !module.get_functions().any(|f| f.get_name().to_bytes().starts_with(elementary::PREFIX.as_bytes())) {
        return passes;
    }
    let passes = format!("always-inline,{passes}");
    if module.get_function(elementary::FAR).is_none() {
        return passes;
    }
    passes.replace(LANES, &format!("{LANES}simplifycfg),always-inline,function("))
}
