// Draws a dashboard with Grafana's own components, from asked.json: the dashboard, and what
// Prometheus answered to its queries. `?theme=dark` is the other one.
import {
  applyFieldOverrides, applyNullInsertThreshold, cacheFieldDisplayNames, createTheme, dateTime,
  FieldConfigOptionsRegistry, FieldType, getDisplayValueAlignmentFactors, getFieldDisplayValues,
  identityOverrideProcessor, standardTransformers, standardTransformersRegistry, ThemeContext,
  toDataFrame, transformDataFrame,
} from '@grafana/data';
import { BigValue, GlobalStyles, PanelChrome, TimeSeries, VizRepeater } from '@grafana/ui';
import { TableNG } from '@grafana/ui/unstable';
import { useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import '@fontsource/inter/400.css'; // Grafana's own; room for texts is measured by it
import '@fontsource/inter/500.css';

const COLUMNS = 24, ROW = 30, GAP = 8, MARGIN = 16; // of Grafana's grid
// what a panel has where the file is silent; the panels themselves are in no package of Grafana
const CUSTOM = {
  timeseries: {
    drawStyle: 'line', lineInterpolation: 'linear', lineWidth: 1, fillOpacity: 0, pointSize: 5,
    gradientMode: 'none', barAlignment: 0, barWidthFactor: 0.6, showPoints: 'auto',
    spanNulls: false, insertNulls: false, stacking: { mode: 'none', group: 'A' },
    axisPlacement: 'auto', axisColorMode: 'text', axisLabel: '', axisGridShow: true,
    axisCenteredZero: false, axisBorderShow: false, scaleDistribution: { type: 'linear' },
    thresholdsStyle: { mode: 'off' }, hideFrom: { legend: false, tooltip: false, viz: false },
  },
  table: { align: 'auto', cellOptions: { type: 'auto' }, inspect: false },
  stat: {},
};
const COLOR = { timeseries: 'palette-classic', table: 'thresholds', stat: 'thresholds' };
const THRESHOLDS = { mode: 'absolute', steps: [{ color: 'green' }, { color: 'red', value: 80 }] };
const PROPERTIES = ['color', 'decimals', 'displayName', 'mappings', 'max', 'min', 'noValue',
  'thresholds', 'unit'];
const asItStands = (text) => text;

const own = { timeseries: ['axisSoftMax', 'lineStyle'], table: ['minWidth', 'width'], stat: [] };
const registryOf = (type) => new FieldConfigOptionsRegistry(() => [
  ...PROPERTIES.map((path) => ({ id: path, path })),
  ...[...Object.keys(CUSTOM[type]), ...own[type]].map((path) => (
    { id: `custom.${path}`, path, isCustom: true })),
].map((each) => (
  { ...each, name: each.id, process: identityOverrideProcessor, shouldApply: () => true })));

standardTransformersRegistry.setInit(() => [
  standardTransformers.mergeTransformer, standardTransformers.organizeFieldsTransformer,
].map((each) => ({ id: each.id, name: each.name, transformation: async () => each })));

// as Grafana's Prometheus source makes them
function framesOf({ refId, legendFormat, format }, answer, step) {
  const numbers = (points) => points.map(([, text]) => (
    Number.isFinite(Number(text)) ? Number(text) : null));
  const times = (points) => points.map(([at]) => at * 1000);
  if (format === 'table') {
    const labels = [...new Set(answer.flatMap(({ metric }) => Object.keys(metric)))].sort();
    const points = answer.map(({ value }) => value);
    return [{ refId, fields: [
      { name: 'Time', type: FieldType.time, values: times(points) },
      ...labels.map((label) => ({
        name: label, type: FieldType.string, values: answer.map(({ metric }) => metric[label]),
      })),
      { name: `Value #${refId}`, type: FieldType.number, values: numbers(points) },
    ] }];
  }
  return answer.map(({ metric: labels, value, values }) => {
    const points = values ?? [value];
    const name = legendFormat.replace(/\{\{(\w+)\}\}/g, (_, label) => labels[label] ?? '');
    const [time, config] = [{ interval: step * 1000 }, { displayNameFromDS: name }];
    return { refId, name, fields: [
      { name: 'Time', type: FieldType.time, config: time, values: times(points) },
      { name: 'Value', type: FieldType.number, labels, config, values: numbers(points) },
    ] };
  });
}

function configOf({ type, fieldConfig: { defaults, overrides } }) {
  const { mode, steps } = defaults.thresholds ?? THRESHOLDS;
  const thresholds = { mode, steps: steps.map(({ color, value }) => (
    { color, value: value ?? -Infinity })) };
  const custom = { ...CUSTOM[type], ...defaults.custom };
  return { defaults: { color: { mode: COLOR[type] }, ...defaults, thresholds, custom }, overrides };
}

function useFrames(panel, asked, theme, fieldConfig) {
  const [frames, setFrames] = useState();
  useEffect(() => {
    const [answers, step] = [asked.answers[panel.id], asked.steps[panel.id]];
    const raw = panel.targets.flatMap((target, place) => framesOf(target, answers[place], step))
      .map((each) => toDataFrame(each));
    const about = { fieldConfig, theme, timeZone: asked.board.timezone };
    const fieldConfigRegistry = registryOf(panel.type);
    transformDataFrame(panel.transformations ?? [], raw, { interpolate: asItStands }).subscribe(
      (found) => {
        const data = applyFieldOverrides(
          { ...about, data: found, fieldConfigRegistry, replaceVariables: asItStands });
        cacheFieldDisplayNames(data);
        setFrames(data);
      });
  }, []);
  return frames;
}

function Stat({ panel: { options }, data, fieldConfig, theme, timeZone, range, width, height }) {
  const sparkline = options.graphMode !== 'none';
  const about = { fieldConfig, reduceOptions: options.reduceOptions, theme, timeZone, sparkline };
  return (
    <VizRepeater
      {...{ width, height, orientation: options.orientation }} source={data} autoGrid
      itemSpacing={3} renderCounter={0} getAlignmentFactors={getDisplayValueAlignmentFactors}
      getValues={() => getFieldDisplayValues({ ...about, data, replaceVariables: asItStands })}
      renderValue={({ value: { display, sparkline: line }, ...size }) => (
        <BigValue {...options} {...size} {...{ theme }} value={display}
          disableWideLayout={!options.wideLayout}
          sparkline={line && { ...line, timeRange: range }} />
      )}
    />
  );
}

function Inside({ panel, fieldConfig, data, theme, timeZone, range, width, height }) {
  if (panel.type === 'stat') {
    return <Stat {...{ panel, fieldConfig, data, theme, timeZone, range, width, height }} />;
  }
  if (!data.some(({ length }) => length)) {
    const middle = { display: 'flex', alignItems: 'center', justifyContent: 'center', height };
    return <div style={middle}>{fieldConfig.defaults.noValue ?? 'No data'}</div>;
  }
  if (panel.type === 'table') {
    const { cellHeight, sortBy } = panel.options;
    return (
      <TableNG {...{ width, height, cellHeight, fieldConfig }} data={data[0]} timeRange={range}
        initialSortBy={sortBy} getActions={() => []} structureRev={1} />
    );
  }
  // the panel sees to gaps in each line; what draws it would in the first one alone
  const [refFieldPseudoMin, refFieldPseudoMax] = [range.from.valueOf(), range.to.valueOf()];
  const frames = data.map((frame) => (
    applyNullInsertThreshold({ frame, refFieldPseudoMin, refFieldPseudoMax })));
  return (
    <TimeSeries {...{ width, height, timeZone, frames }} timeRange={range}
      options={panel.options} legend={panel.options.legend}>{() => null}</TimeSeries>
  );
}

function Panel({ panel, asked, theme, range, ...size }) {
  const fieldConfig = configOf(panel);
  const data = useFrames(panel, asked, theme, fieldConfig);
  const about = { panel, fieldConfig, data, theme, timeZone: asked.board.timezone, range };
  return (
    <PanelChrome title={panel.title} description={panel.description} {...size}>
      {(width, height) => data && <Inside {...{ ...about, width, height }} />}
    </PanelChrome>
  );
}

function Board({ asked, theme }) {
  const column = (window.innerWidth - 2 * MARGIN + GAP) / COLUMNS;
  const [from, to] = [dateTime(asked.from * 1000), dateTime(asked.to * 1000)];
  const range = { from, to, raw: { from, to } };
  return (
    <ThemeContext.Provider value={theme}>
      <GlobalStyles />
      {asked.board.panels.map((panel) => {
        const { x, y, w, h } = panel.gridPos;
        const size = { width: w * column - GAP, height: h * (ROW + GAP) - GAP };
        const [left, top] = [MARGIN + x * column, MARGIN + y * (ROW + GAP)];
        return (
          <div key={panel.id} style={{ position: 'absolute', left, top, ...size }}>
            {panel.type === 'row'
              ? <h2 style={{ ...theme.typography.h5, padding: 4 }}>{panel.title}</h2>
              : <Panel {...{ panel, asked, theme, range, ...size }} />}
          </div>
        );
      })}
    </ThemeContext.Provider>
  );
}

const theme = createTheme({ colors: { mode: new URLSearchParams(location.search).get('theme') } });
await Promise.all([400, 500].map((weight) => document.fonts.load(`${weight} 14px Inter`)));
const asked = await (await fetch('asked.json')).json();
createRoot(document.getElementById('board')).render(<Board {...{ asked, theme }} />);
