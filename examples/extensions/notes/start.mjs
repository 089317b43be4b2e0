// Runs index.mts where Node strips types by itself (22.18 and later, 23.6 and later), else its copy without types.
await import(process.features.typescript ? "./index.mts" : "./index.mjs");
