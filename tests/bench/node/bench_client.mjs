// What the Node bench clients share: their command line, the calls and the figures; the driver says which.
// Usage: client_X.mjs SEQ CONC TOTAL -- SERVER...

const [SEQ, CONC, TOTAL] = process.argv.slice(2, 5).map(Number);
export const SERVER = process.argv.slice(6);

const microseconds = () => Number(process.hrtime.bigint()) / 1e3;
const cpuMicroseconds = () => {
    const { user, system } = process.cpuUsage();
    return user + system;
};
const textOf = n => n.toString(16).padStart(16, '0');

/** `call` makes one call of echo and gives the text of its answer. */
export async function drive(call) {
    const checked = async text => {
        const answer = await call(text);
        if (answer !== text) throw new Error(`echo of ${text} was answered with ${answer}`);
    };
    const worker = async calls => {
        for (let n = 0; n < calls; n++) await checked(textOf(n));
    };
    await checked('0123456789abcdef');
    process.stdout.write('FIRST\n');
    if (!SEQ) return;
    await worker(1000);

    const latencies = [];
    let cpu = cpuMicroseconds();
    for (let n = 0; n < SEQ; n++) {
        const sent = microseconds();
        await checked(textOf(n));
        latencies.push(microseconds() - sent);
    }
    const seqCpu = cpuMicroseconds() - cpu;
    latencies.sort((a, b) => a - b);

    const each = Math.floor(TOTAL / CONC);
    cpu = cpuMicroseconds();
    const begun = microseconds();
    await Promise.all(Array.from({ length: CONC }, () => worker(each)));
    const [seconds, concCpu, calls] = [(microseconds() - begun) / 1e6, cpuMicroseconds() - cpu, each * CONC];
    const figures = {
        seq_p50_us: latencies[Math.floor(SEQ / 2)],
        seq_p99_us: latencies[Math.floor(SEQ * 0.99)],
        seq_cpu_us: seqCpu / SEQ,
        conc_per_s: calls / seconds,
        conc_cpu_us: concCpu / calls
    };
    process.stdout.write(JSON.stringify(figures) + '\n');
}
